import { text } from '@gateway/testkit/adapters';
import {
  itemAdded,
  itemDone,
  messageEvents,
  partAdded,
  partDone,
  type ResponsesAnswer,
  textDelta,
  textDone,
} from './events.ts';
import { message, textPart } from './items.ts';
import { completed, created, inProgress } from './responses.ts';
import { altered } from './unusual-frames.ts';

export const textCases: readonly ResponsesAnswer[] = [
  {
    name: 'one delta of text',
    everySplit: true,
    events: [created(), inProgress(), ...messageEvents(['Hello.']), completed()],
    deltas: [text('Hello.')],
    ending: 'stop',
  },
  {
    name: 'text in several deltas',
    everySplit: true,
    events: [created(), ...messageEvents(['Hel', 'lo ', 'world', '.']), completed()],
    deltas: [text('Hel'), text('lo '), text('world'), text('.')],
    ending: 'stop',
  },
  {
    name: 'a finished response that repeats the text',
    events: [
      created(),
      ...messageEvents(['Hello.']),
      completed({ output: [message('Hello.')], output_text: 'Hello.' }),
    ],
    deltas: [text('Hello.')],
    ending: 'stop',
  },
  {
    name: 'a message of two parts, which are one text',
    events: [
      created(),
      itemAdded(message([])),
      partAdded(textPart('')),
      textDelta('One.'),
      partDone(textPart('One.')),
      partAdded(textPart(''), { part: 1 }),
      textDelta('Two.', { part: 1 }),
      partDone(textPart('Two.'), { part: 1 }),
      itemDone(message([textPart('One.'), textPart('Two.')])),
      completed(),
    ],
    deltas: [text('One.'), text('Two.')],
    ending: 'stop',
  },
  {
    name: 'a second part that only its item holds',
    events: [created(), textDelta('One.'), itemDone(message([textPart('One.'), textPart('Two.')])), completed()],
    deltas: [text('One.'), text('Two.')],
    ending: 'stop',
  },
  {
    name: 'empty deltas between others',
    events: [created(), ...messageEvents(['', 'Hel', '', 'lo', '']), completed()],
    deltas: [text('Hel'), text('lo')],
    ending: 'stop',
  },
  {
    name: 'deltas of nothing but white space',
    events: [created(), ...messageEvents([' ', '\n', '\t', '\n\n']), completed()],
    deltas: [text(' '), text('\n'), text('\t'), text('\n\n')],
    ending: 'stop',
  },
  {
    name: 'a part that ends with more than its deltas said',
    events: [created(), textDelta('Hel'), textDone('Hello.'), completed()],
    deltas: [text('Hel'), text('lo.')],
    ending: 'stop',
  },
  {
    name: 'an item that ends with more than its part said',
    events: [created(), textDelta('Hel'), textDone('Hello'), itemDone(message('Hello.')), completed()],
    deltas: [text('Hel'), text('lo'), text('.')],
    ending: 'stop',
  },
  {
    name: 'a part that ends with something else than its deltas said',
    events: [created(), textDelta('Hello'), textDone('Goodbye, world'), itemDone(message('Goodbye!')), completed()],
    deltas: [text('Hello')],
    ending: 'stop',
  },
  {
    name: 'a part that ends with less than its deltas said',
    events: [created(), textDelta('Hello. '), textDone('Hello.'), completed()],
    deltas: [text('Hello. ')],
    ending: 'stop',
  },
  {
    name: 'a message that says nothing',
    events: [created(), ...messageEvents([]), completed()],
    deltas: [],
    ending: 'stop',
  },
  {
    name: 'no item at all',
    everySplit: true,
    events: [created(), completed()],
    deltas: [],
    ending: 'stop',
  },
  {
    name: 'a hundred deltas of one character',
    events: [created(), ...messageEvents([...oneHundredLetters()]), completed()],
    deltas: [...oneHundredLetters()].map(text),
    ending: 'stop',
  },
  {
    name: 'a delta of twenty thousand characters',
    events: [created(), textDelta('long '.repeat(4_000)), completed()],
    deltas: [text('long '.repeat(4_000))],
    ending: 'stop',
  },
  {
    name: 'log probabilities beside the text',
    events: [
      created(),
      {
        type: 'response.output_text.delta',
        sequence_number: 0,
        item_id: 'msg_0',
        output_index: 0,
        content_index: 0,
        delta: 'Yes',
        logprobs: [{ token: 'Yes', logprob: -0.1, top_logprobs: [{ token: 'No', logprob: -2.4 }] }],
      },
      completed(),
    ],
    deltas: [text('Yes')],
    ending: 'stop',
  },
  {
    name: 'deltas padded against guessing by length',
    events: [created(), altered(textDelta('Yes'), { obfuscation: 'aB3xYz0qL' }), completed()],
    deltas: [text('Yes')],
    ending: 'stop',
  },
];

function oneHundredLetters(): string {
  return 'abcdefghij'.repeat(10);
}
