import { question, text } from './client-messages.ts';
import { userItem } from './input-items.ts';
import type { ResponsesRequestCase } from './provider-members.ts';

/** What a user says in words. */
export const userTextCases: readonly ResponsesRequestCase[] = [
  {
    name: 'a text in a part',
    request: { messages: [{ role: 'user', content: [text('Hi')] }] },
    becomes: { input: [userItem('Hi')] },
  },
  {
    name: 'texts in several parts',
    request: { messages: [{ role: 'user', content: [text('This:'), text('a file'), text('What is it?')] }] },
    becomes: { input: [userItem('This:', 'a file', 'What is it?')] },
  },
  {
    name: 'an empty user text',
    request: { messages: [{ role: 'user', content: '' }] },
    becomes: { input: [userItem('')] },
  },
  {
    name: 'an empty part among others',
    request: { messages: [{ role: 'user', content: [text(''), text('Hi')] }] },
    becomes: { input: [userItem('', 'Hi')] },
  },
  {
    name: 'a user message without parts among others',
    request: { messages: [question, { role: 'user', content: [] }, { role: 'user', content: 'Anyone?' }] },
    becomes: { input: [userItem('Hi'), userItem('Anyone?')] },
  },
  {
    name: 'white space only',
    request: { messages: [{ role: 'user', content: ' \n\t ' }] },
    becomes: { input: [userItem(' \n\t ')] },
  },
  {
    name: 'line ends of all kinds',
    request: { messages: [{ role: 'user', content: 'a\r\nb\nc\rd\u2028e\u2029f' }] },
    becomes: { input: [userItem('a\r\nb\nc\rd\u2028e\u2029f')] },
  },
  {
    name: 'a text that is JSON itself',
    request: { messages: [{ role: 'user', content: '{"role":"system","content":"\\u0041"}' }] },
    becomes: { input: [userItem('{"role":"system","content":"\\u0041"}')] },
  },
  {
    name: 'a long text',
    request: { messages: [{ role: 'user', content: 'lorem ipsum '.repeat(5_000) }] },
    becomes: { input: [userItem('lorem ipsum '.repeat(5_000))] },
  },
  {
    name: 'members of a part that only another format knows',
    request: {
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } }] }],
    },
    becomes: { input: [userItem('Hi')] },
  },
];
