import { args, call, refusal, text } from '@gateway/testkit/adapters';
import {
  argumentsDelta,
  callEvents,
  errorEvent,
  itemAdded,
  messageEvents,
  type ResponsesAnswer,
  refusalDelta,
  textDelta,
} from './events.ts';
import { limited, modelLimited, overloaded, rejected, serverError } from './failures.ts';
import { functionCall, message } from './items.ts';
import { completed, created, failed } from './responses.ts';
import { frame, json, lines } from './unusual-frames.ts';

export const errorAfterContentCases: readonly ResponsesAnswer[] = [
  {
    name: 'an error event after a piece of text',
    everySplit: true,
    events: [created(), textDelta('Half an ans'), errorEvent('server_error')],
    deltas: [text('Half an ans')],
    ending: serverError,
  },
  {
    name: 'a failed response after a piece of text',
    events: [created(), textDelta('Half an ans'), failed('server_error')],
    deltas: [text('Half an ans')],
    ending: serverError,
  },
  {
    name: 'a limit after a piece of text',
    events: [created(), textDelta('Half'), failed('rate_limit_exceeded')],
    deltas: [text('Half')],
    ending: modelLimited,
  },
  {
    name: 'a limit with its reset after a piece of text',
    events: [
      created(),
      textDelta('Half'),
      frame({ type: 'error', error: { type: 'usage_limit_reached', resets_at: 1_795_140_000 } }),
    ],
    deltas: [text('Half')],
    ending: { ...limited, retryAtMs: 1_795_140_000_000 },
  },
  {
    name: 'a policy that stops an answer',
    events: [created(), textDelta('Take two parts of'), failed('bio_policy')],
    deltas: [text('Take two parts of')],
    ending: rejected,
  },
  {
    name: 'an error as a tool call begins',
    events: [created(), itemAdded(functionCall('call_1', 'probe')), errorEvent('slow_down')],
    deltas: [call(0, 'call_1', 'probe')],
    ending: overloaded,
  },
  {
    name: 'an error within arguments',
    everySplit: true,
    events: [
      created(),
      itemAdded(functionCall('call_1', 'probe')),
      argumentsDelta('{"city":"Mü'),
      errorEvent('server_error'),
    ],
    deltas: [call(0, 'call_1', 'probe'), args(0, '{"city":"Mü')],
    ending: serverError,
  },
  {
    name: 'an error between two tool calls',
    events: [created(), ...callEvents('call_1', 'probe', ['{"a":1}']), errorEvent('server_error')],
    deltas: [call(0, 'call_1', 'probe'), args(0, '{"a":1}')],
    ending: serverError,
  },
  {
    name: 'an error after a piece of a refusal',
    events: [created(), refusalDelta('I can'), errorEvent('server_error')],
    deltas: [refusal('I can')],
    ending: serverError,
  },
  {
    name: 'an error after a whole message',
    events: [created(), ...messageEvents(['All of it.']), errorEvent('server_error')],
    deltas: [text('All of it.')],
    ending: serverError,
  },
  {
    name: 'an error without a code after a piece of text',
    events: [created(), textDelta('Half'), errorEvent(null)],
    deltas: [text('Half')],
    ending: serverError,
  },
  {
    name: 'an error object without a type of event after a piece of text',
    events: [created(), textDelta('Half'), json('{"error":{"code":"server_is_overloaded"}}')],
    deltas: [text('Half')],
    ending: overloaded,
  },
  {
    name: 'two errors, of which the first counts',
    events: [created(), textDelta('Half'), errorEvent('slow_down'), failed('rate_limit_exceeded')],
    deltas: [text('Half')],
    ending: overloaded,
  },
  {
    name: 'a failed response whose output says more than was streamed',
    events: [created(), textDelta('Half'), failed('server_error', { output: [message('Half of it.')] })],
    deltas: [text('Half')],
    ending: serverError,
  },
  {
    name: 'arguments of a nameless call after a piece of text',
    events: [created(), textDelta('Half'), argumentsDelta('{}', 1), completed()],
    deltas: [text('Half')],
    ending: serverError,
  },
  {
    name: 'an error that the provider words in HTML',
    events: [created(), textDelta('Half'), lines('event: error', 'data: <html>502 Bad Gateway</html>')],
    deltas: [text('Half')],
    ending: serverError,
  },
];
