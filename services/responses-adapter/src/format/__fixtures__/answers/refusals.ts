import { refusal, text } from '@gateway/testkit/adapters';
import {
  itemDone,
  messageEvents,
  partDone,
  type ResponsesAnswer,
  refusalDelta,
  refusalDone,
  refusalEvents,
  textDelta,
} from './events.ts';
import { message, refusalPart, textPart } from './items.ts';
import { completed, created, incomplete } from './responses.ts';

export const refusalCases: readonly ResponsesAnswer[] = [
  {
    name: 'a refusal, which is no content',
    everySplit: true,
    events: [created(), ...refusalEvents(["I can't ", 'help with that.']), completed()],
    deltas: [refusal("I can't "), refusal('help with that.')],
    ending: 'stop',
  },
  {
    name: 'a refusal that came whole',
    events: [created(), refusalDone('No.'), completed()],
    deltas: [refusal('No.')],
    ending: 'stop',
  },
  {
    name: 'a refusal that only its part holds',
    events: [created(), partDone(refusalPart('No.')), completed()],
    deltas: [refusal('No.')],
    ending: 'stop',
  },
  {
    name: 'a refusal that only its item holds',
    events: [created(), itemDone(message([refusalPart('No.')])), completed()],
    deltas: [refusal('No.')],
    ending: 'stop',
  },
  {
    name: 'a refusal that only the finished response holds',
    events: [created(), completed({ output: [message([refusalPart('No.')])] })],
    deltas: [refusal('No.')],
    ending: 'stop',
  },
  {
    name: 'a refusal that ends with more than its deltas said',
    events: [created(), refusalDelta('I can'), refusalDone("I can't."), completed()],
    deltas: [refusal('I can'), refusal("'t.")],
    ending: 'stop',
  },
  {
    name: 'a refusal after the beginning of a text',
    events: [
      created(),
      textDelta('First, '),
      refusalDelta("I can't.", { part: 1 }),
      itemDone(message([textPart('First, '), refusalPart("I can't.")])),
      completed(),
    ],
    deltas: [text('First, '), refusal("I can't.")],
    ending: 'stop',
  },
  {
    name: 'a refusal in a message after another',
    events: [created(), ...messageEvents(['Let me see.']), refusalDelta('No.', { item: 1 }), completed()],
    deltas: [text('Let me see.'), refusal('No.')],
    ending: 'stop',
  },
  {
    name: 'a refusal that a content filter cut short',
    events: [created(), refusalDelta('I can'), incomplete('content_filter')],
    deltas: [refusal('I can')],
    ending: 'content_filter',
  },
];
