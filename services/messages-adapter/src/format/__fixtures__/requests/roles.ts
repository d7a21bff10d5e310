import { assistant, type RequestCases, sentHi, text, user } from './provider-request.ts';

const beginning = text('(The conversation begins with your answer.)');
/** A model that goes on with a begun answer; newer ones refuse to. */
const continuing = 'claude-sonnet-4-5-20250929';

export const roleCases: RequestCases = [
  {
    name: 'one text of the user',
    request: { messages: [{ role: 'user', content: 'Hi' }] },
    becomes: { messages: sentHi },
  },
  {
    name: 'a system message',
    request: { messages: [said('system', 'Be brief.'), said('user', 'Hi')] },
    becomes: { system: 'Be brief.', messages: sentHi },
  },
  {
    name: 'a developer message, which is one of the system',
    request: { messages: [said('developer', 'Be brief.'), said('user', 'Hi')] },
    becomes: { system: 'Be brief.', messages: sentHi },
  },
  {
    name: 'system and developer messages, in their order',
    request: {
      messages: [said('system', 'One.'), said('developer', 'Two.'), said('system', 'Three.'), said('user', 'Hi')],
    },
    becomes: { system: 'One.\n\nTwo.\n\nThree.', messages: sentHi },
  },
  {
    name: 'a system message of several parts',
    request: {
      messages: [
        {
          role: 'system',
          content: [
            { type: 'text', text: 'One.' },
            { type: 'text', text: 'Two.' },
          ],
        },
        said('user', 'Hi'),
      ],
    },
    becomes: { system: 'One.\n\nTwo.', messages: sentHi },
  },
  {
    name: 'system texts whose white space matters',
    request: { messages: [said('system', '  - one\n  - two\n'), said('user', 'Hi')] },
    becomes: { system: '  - one\n  - two\n', messages: sentHi },
  },
  {
    name: 'blank system messages, which say nothing',
    request: { messages: [said('system', ''), said('developer', ' \n'), said('user', 'Hi')] },
    becomes: { messages: sentHi },
  },
  {
    name: 'a system message between two turns',
    request: {
      messages: [said('user', 'Hi'), said('assistant', 'Hello.'), said('system', 'Be brief.'), said('user', 'Why?')],
    },
    becomes: { system: 'Be brief.', messages: [...sentHi, assistant(text('Hello.')), user(text('Why?'))] },
  },
  {
    name: 'a system message after the question',
    request: { messages: [said('user', 'Hi'), said('system', 'Be brief.')] },
    becomes: { system: 'Be brief.', messages: sentHi },
  },
  {
    name: 'a system message after the last answer, which is what is to be answered',
    request: {
      messages: [
        said('system', 'Be brief.'),
        said('user', 'Hi'),
        said('assistant', 'Hello.'),
        said('system', 'Sum up.'),
      ],
    },
    becomes: { system: 'Be brief.', messages: [...sentHi, assistant(text('Hello.')), user(text('Sum up.'))] },
  },
  {
    name: 'several system texts after the last answer',
    request: {
      messages: [
        said('user', 'Hi'),
        said('assistant', 'Hello. '),
        said('system', 'Sum up.'),
        said('developer', 'Briefly.'),
      ],
    },
    becomes: { messages: [...sentHi, assistant(text('Hello. ')), user(text('Sum up.\n\nBriefly.'))] },
  },
  {
    name: 'system messages only, which are what the user says',
    request: { messages: [said('system', 'Tell a joke.'), said('developer', 'A short one.')] },
    becomes: { messages: [user(text('Tell a joke.\n\nA short one.'))] },
  },
  {
    name: 'two user messages in a row',
    request: { messages: [said('user', 'Hi'), said('user', 'there')] },
    becomes: { messages: [user(text('Hi'), text('there'))] },
  },
  {
    name: 'two assistant messages in a row',
    request: {
      messages: [said('user', 'Hi'), said('assistant', 'One.'), said('assistant', 'Two.'), said('user', 'Why?')],
    },
    becomes: { messages: [...sentHi, assistant(text('One.'), text('Two.')), user(text('Why?'))] },
  },
  {
    name: 'turn after turn',
    request: {
      messages: [
        said('user', 'a'),
        said('assistant', 'b'),
        said('user', 'c'),
        said('assistant', 'd'),
        said('user', 'e'),
      ],
    },
    becomes: {
      messages: [user(text('a')), assistant(text('b')), user(text('c')), assistant(text('d')), user(text('e'))],
    },
  },
  {
    name: 'an empty answer between two questions',
    request: { messages: [said('user', 'Hi'), said('assistant', ''), said('user', 'there')] },
    becomes: { messages: [user(text('Hi'), text('there'))] },
  },
  {
    name: 'an empty question between two answers',
    request: {
      messages: [
        said('user', 'Hi'),
        said('assistant', 'One.'),
        said('user', ' '),
        said('assistant', 'Two.'),
        said('user', '?'),
      ],
    },
    becomes: { messages: [...sentHi, assistant(text('One.'), text('Two.')), user(text('?'))] },
  },
  {
    name: 'the assistant first',
    request: { messages: [said('assistant', 'How can I help?'), said('user', 'Hi')] },
    becomes: { messages: [user(beginning), assistant(text('How can I help?')), ...sentHi] },
  },
  {
    name: 'the assistant first after the system',
    request: { messages: [said('system', 'Be brief.'), said('assistant', 'How can I help?'), said('user', 'Hi')] },
    becomes: {
      system: 'Be brief.',
      messages: [user(beginning), assistant(text('How can I help?')), ...sentHi],
    },
  },
  {
    name: 'a name on every message',
    request: {
      messages: [
        { ...said('system', 'Be brief.'), name: 'house-rules' },
        { ...said('user', 'Hi'), name: 'Ada' },
        { ...said('assistant', 'Hello.'), name: 'bot' },
        { ...said('user', 'Why?'), name: 'Grace' },
      ],
    },
    becomes: { system: 'Be brief.', messages: [...sentHi, assistant(text('Hello.')), user(text('Why?'))] },
  },
  {
    name: 'an empty answer at the end',
    request: { messages: [said('user', 'Hi'), said('assistant', '')] },
    becomes: { messages: sentHi },
  },
  {
    name: 'a begun answer at the end, which is kept',
    model: continuing,
    request: { messages: [said('user', 'Hi'), said('assistant', 'Hello, my')] },
    becomes: { messages: [...sentHi, assistant(text('Hello, my'))] },
  },
  {
    name: 'a begun answer that ends in white space',
    model: continuing,
    request: { messages: [said('user', 'Hi'), said('assistant', '  Hello, my \n')] },
    becomes: { messages: [...sentHi, assistant(text('  Hello, my'))] },
  },
  {
    name: 'a begun answer of several messages, trimmed at its very end only',
    model: continuing,
    request: { messages: [said('user', 'Hi'), said('assistant', 'One. '), said('assistant', 'Two. ')] },
    becomes: { messages: [...sentHi, assistant(text('One. '), text('Two.'))] },
  },
  {
    name: 'an answer with white space at its end that is not the last message',
    request: { messages: [said('user', 'Hi'), said('assistant', 'Hello. \n'), said('user', 'Why?')] },
    becomes: { messages: [...sentHi, assistant(text('Hello. \n')), user(text('Why?'))] },
  },
  {
    name: 'a system message before a begun answer',
    model: continuing,
    request: { messages: [said('user', 'Hi'), said('system', 'Be brief.'), said('assistant', 'Hello,')] },
    becomes: { system: 'Be brief.', messages: [...sentHi, assistant(text('Hello,'))] },
  },
];

function said(role: 'system' | 'developer' | 'user' | 'assistant', content: string) {
  return { role, content };
}
