import { question } from './client-messages.ts';
import { assistantItem, developerItem, userItem } from './input-items.ts';
import type { ResponsesRequestCase } from './provider-members.ts';

/** Who speaks, and in which order. The provider knows no role `system`. */
export const roleCases: readonly ResponsesRequestCase[] = [
  {
    name: 'nothing but a question',
    request: { messages: [question] },
    becomes: { input: [userItem('Hi')] },
  },
  {
    name: 'a system message first',
    request: { messages: [{ role: 'system', content: 'Be terse.' }, question] },
    becomes: { instructions: 'Be terse.', input: [userItem('Hi')] },
  },
  {
    name: 'a developer message first',
    request: { messages: [{ role: 'developer', content: 'Be terse.' }, question] },
    becomes: { instructions: 'Be terse.', input: [userItem('Hi')] },
  },
  {
    name: 'system and developer messages first',
    request: {
      messages: [
        { role: 'system', content: 'Be terse.' },
        { role: 'developer', content: 'Speak Dutch.' },
        { role: 'system', content: 'Be kind.' },
        question,
      ],
    },
    becomes: { instructions: 'Be terse.\n\nSpeak Dutch.\n\nBe kind.', input: [userItem('Hi')] },
  },
  {
    name: 'a system message in parts first',
    request: {
      messages: [
        {
          role: 'system',
          content: [
            { type: 'text', text: 'Be terse.' },
            { type: 'text', text: 'Speak Dutch.' },
          ],
        },
        question,
      ],
    },
    becomes: { instructions: 'Be terse.\n\nSpeak Dutch.', input: [userItem('Hi')] },
  },
  {
    name: 'white space around the system text',
    request: { messages: [{ role: 'system', content: '\n  Be terse.\n' }, question] },
    becomes: { instructions: '\n  Be terse.\n', input: [userItem('Hi')] },
  },
  {
    name: 'an empty system message first',
    request: { messages: [{ role: 'system', content: '' }, question] },
    becomes: { input: [userItem('Hi')] },
  },
  {
    name: 'an empty system message among others first',
    request: {
      messages: [{ role: 'system', content: 'Be terse.' }, { role: 'system', content: '' }, question],
    },
    becomes: { instructions: 'Be terse.', input: [userItem('Hi')] },
  },
  {
    name: 'a system message without parts first',
    request: { messages: [{ role: 'system', content: [] }, question] },
    becomes: { input: [userItem('Hi')] },
  },
  {
    name: 'a system message between the turns',
    request: {
      messages: [
        question,
        { role: 'assistant', content: 'Hello.' },
        { role: 'system', content: 'Now in French.' },
        { role: 'user', content: 'How are you?' },
      ],
    },
    becomes: {
      input: [userItem('Hi'), assistantItem('Hello.'), developerItem('Now in French.'), userItem('How are you?')],
    },
  },
  {
    name: 'a developer message in parts between the turns',
    request: {
      messages: [
        question,
        {
          role: 'developer',
          content: [
            { type: 'text', text: 'Now in French.' },
            { type: 'text', text: 'And short.' },
          ],
        },
      ],
    },
    becomes: { input: [userItem('Hi'), developerItem('Now in French.', 'And short.')] },
  },
  {
    name: 'system messages first and last',
    request: {
      messages: [{ role: 'system', content: 'Be terse.' }, question, { role: 'system', content: 'Remember: terse.' }],
    },
    becomes: { instructions: 'Be terse.', input: [userItem('Hi'), developerItem('Remember: terse.')] },
  },
  {
    name: 'a system message without parts between the turns',
    request: { messages: [question, { role: 'system', content: [] }, { role: 'user', content: 'Still there?' }] },
    becomes: { input: [userItem('Hi'), userItem('Still there?')] },
  },
  {
    name: 'only a system message',
    request: { messages: [{ role: 'system', content: 'Say hello.' }] },
    becomes: { input: [developerItem('Say hello.')] },
  },
  {
    name: 'only system and developer messages',
    request: {
      messages: [
        { role: 'system', content: 'Say hello.' },
        { role: 'developer', content: 'In Dutch.' },
      ],
    },
    becomes: { input: [developerItem('Say hello.'), developerItem('In Dutch.')] },
  },
  {
    name: 'a system message and a user who says nothing',
    request: {
      messages: [
        { role: 'system', content: 'Say hello.' },
        { role: 'user', content: [] },
      ],
    },
    becomes: { input: [developerItem('Say hello.')] },
  },
  {
    name: 'many turns',
    request: {
      messages: ['One', 'Two', 'Three'].flatMap((word) => [
        { role: 'user', content: word },
        { role: 'assistant', content: `${word}!` },
      ]),
    },
    becomes: {
      input: ['One', 'Two', 'Three'].flatMap((word) => [userItem(word), assistantItem(`${word}!`)]),
    },
  },
  {
    name: 'two user messages in a row',
    request: { messages: [question, { role: 'user', content: 'Anyone?' }] },
    becomes: { input: [userItem('Hi'), userItem('Anyone?')] },
  },
  {
    name: 'two assistant messages in a row',
    request: {
      messages: [question, { role: 'assistant', content: 'Let me see.' }, { role: 'assistant', content: 'Hello.' }],
    },
    becomes: { input: [userItem('Hi'), assistantItem('Let me see.'), assistantItem('Hello.')] },
  },
  {
    name: 'an assistant message first',
    request: { messages: [{ role: 'assistant', content: 'How can I help?' }, question] },
    becomes: { input: [assistantItem('How can I help?'), userItem('Hi')] },
  },
  {
    name: 'a system and an assistant message first',
    request: {
      messages: [
        { role: 'system', content: 'Be terse.' },
        { role: 'assistant', content: 'How can I help?' },
        { role: 'system', content: 'Speak Dutch.' },
        question,
      ],
    },
    becomes: {
      instructions: 'Be terse.',
      input: [assistantItem('How can I help?'), developerItem('Speak Dutch.'), userItem('Hi')],
    },
  },
  {
    name: 'a begun answer last, white space at its end',
    request: {
      messages: [
        { role: 'user', content: 'Count to five.' },
        { role: 'assistant', content: 'One, two, ' },
      ],
    },
    becomes: { input: [userItem('Count to five.'), assistantItem('One, two, ')] },
  },
  {
    name: 'an empty answer last',
    request: { messages: [question, { role: 'assistant', content: '' }] },
    becomes: { input: [userItem('Hi')] },
  },
  {
    name: 'names of the speakers',
    request: {
      messages: [
        { role: 'system', name: 'house', content: 'Be terse.' },
        { role: 'user', name: 'anna', content: 'Hi' },
        { role: 'assistant', name: 'helper', content: 'Hello.' },
        { role: 'user', name: 'bert', content: 'Me too' },
      ],
    },
    becomes: {
      instructions: 'Be terse.',
      input: [userItem('Hi'), assistantItem('Hello.'), userItem('Me too')],
    },
  },
];
