import { args, call, refusal, text } from '@gateway/testkit/adapters';
import { callEvents, errorEvent, messageEvents, type ResponsesAnswer, refusalEvents, textDelta } from './events.ts';
import { message, reasoning } from './items.ts';
import { completed, created, incomplete } from './responses.ts';

const commentary = messageEvents(['I will ', 'look.'], { phase: 'commentary' });
const finalAnswer = (deltas: readonly string[], at = 1) => messageEvents(deltas, { at, phase: 'final_answer' });

const asText: readonly ResponsesAnswer[] = [
  {
    name: 'a comment and the final answer, parted by a blank line',
    everySplit: true,
    events: [created(), ...commentary, ...finalAnswer(['Four.']), completed()],
    deltas: [text('I will '), text('look.'), text('\n\n'), text('Four.')],
    ending: 'stop',
  },
  {
    name: 'three messages, which are one choice with index 0',
    events: [
      created(),
      ...messageEvents(['One.']),
      ...messageEvents(['Two.'], { at: 1 }),
      ...messageEvents(['Three.'], { at: 2 }),
      completed(),
    ],
    deltas: [text('One.'), text('\n\n'), text('Two.'), text('\n\n'), text('Three.')],
    ending: 'stop',
  },
  {
    name: 'an empty message between two others',
    events: [
      created(),
      ...messageEvents(['One.']),
      ...messageEvents([], { at: 1 }),
      ...messageEvents(['Two.'], { at: 2 }),
      completed(),
    ],
    deltas: [text('One.'), text('\n\n'), text('Two.')],
    ending: 'stop',
  },
  {
    name: 'an empty message before another',
    events: [created(), ...messageEvents([]), ...messageEvents(['Two.'], { at: 1 }), completed()],
    deltas: [text('Two.')],
    ending: 'stop',
  },
  {
    name: 'messages without a phase and with none',
    events: [
      created(),
      ...messageEvents(['One.'], { phase: null }),
      ...messageEvents(['Two.'], { at: 1 }),
      completed(),
    ],
    deltas: [text('One.'), text('\n\n'), text('Two.')],
    ending: 'stop',
  },
  {
    name: 'messages on both sides of a tool call',
    events: [
      created(),
      ...messageEvents(['Before.']),
      ...callEvents('call_1', 'probe', ['{}'], 1),
      ...messageEvents(['After.'], { at: 2 }),
      completed(),
    ],
    deltas: [text('Before.'), call(0, 'call_1', 'probe'), args(0, '{}'), text('\n\n'), text('After.')],
    ending: 'tool_calls',
  },
  {
    name: 'a message after a tool call, with no blank line before it',
    events: [created(), ...callEvents('call_1', 'probe', ['{}']), ...messageEvents(['After.'], { at: 1 }), completed()],
    deltas: [call(0, 'call_1', 'probe'), args(0, '{}'), text('After.')],
    ending: 'tool_calls',
  },
  {
    name: 'messages that only the finished response holds',
    events: [created(), completed({ output: [message('One.'), reasoning(), message('Two.', { id: 'msg_2' })] })],
    deltas: [text('One.'), text('\n\n'), text('Two.')],
    ending: 'stop',
  },
];

const asJson: readonly ResponsesAnswer[] = [
  {
    name: 'JSON in several deltas',
    wantsJson: true,
    everySplit: true,
    events: [created(), ...messageEvents(['{"answer"', ':4}']), completed()],
    deltas: [text('{"answer"'), text(':4}')],
    ending: 'stop',
  },
  {
    name: 'a comment before JSON, which is left out',
    wantsJson: true,
    events: [created(), ...commentary, ...finalAnswer(['{"answer":4}']), completed()],
    deltas: [text('{"answer":4}')],
    ending: 'stop',
  },
  {
    name: 'a comment after JSON, which is left out',
    wantsJson: true,
    events: [
      created(),
      ...finalAnswer(['{"answer":4}'], 0),
      ...messageEvents(['Done.'], { at: 1, phase: 'commentary' }),
      completed(),
    ],
    deltas: [text('{"answer":4}')],
    ending: 'stop',
  },
  {
    name: 'a second final message after JSON, which is left out',
    wantsJson: true,
    events: [created(), ...finalAnswer(['{"answer":4}'], 0), ...finalAnswer(['{"answer":5}'], 1), completed()],
    deltas: [text('{"answer":4}')],
    ending: 'stop',
  },
  {
    name: 'two messages without a phase where JSON is wanted',
    wantsJson: true,
    events: [created(), textDelta('{"a":1}'), textDelta('{"a":2}', { item: 1 }), completed()],
    deltas: [text('{"a":1}')],
    ending: 'stop',
  },
  {
    name: 'nothing but a comment where JSON is wanted',
    wantsJson: true,
    events: [created(), ...commentary, completed()],
    deltas: [text('I will look.')],
    ending: 'stop',
  },
  {
    name: 'two comments where JSON is wanted, of which the last is better than nothing',
    wantsJson: true,
    events: [created(), ...commentary, ...messageEvents(['Now.'], { at: 1, phase: 'commentary' }), completed()],
    deltas: [text('Now.')],
    ending: 'stop',
  },
  {
    name: 'a comment and a tool call where JSON is wanted',
    wantsJson: true,
    events: [created(), ...commentary, ...callEvents('call_1', 'probe', ['{}'], 1), completed()],
    deltas: [call(0, 'call_1', 'probe'), args(0, '{}'), text('I will look.')],
    ending: 'tool_calls',
  },
  {
    name: 'a refusal where JSON is wanted',
    wantsJson: true,
    events: [created(), ...refusalEvents(['I can', 'not.']), completed()],
    deltas: [refusal('I can'), refusal('not.')],
    ending: 'stop',
  },
  {
    name: 'JSON cut short by its length',
    wantsJson: true,
    events: [created(), ...commentary, textDelta('{"answer"', { item: 1 }), incomplete('max_output_tokens')],
    deltas: [text('{"answer"')],
    ending: 'length',
  },
  {
    name: 'a failure after a comment where JSON is wanted, which is before any content',
    wantsJson: true,
    events: [created(), ...commentary, errorEvent('server_error')],
    deltas: [],
    ending: { failed: 'SERVER_ERROR', code: 'providers_unavailable' },
  },
];

export const messageCases: readonly ResponsesAnswer[] = [...asText, ...asJson];
