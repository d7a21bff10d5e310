import type { FinishReason } from '@gateway/chat';
import { args, call, text } from '@gateway/testkit/adapters';
import {
  argumentsDelta,
  callEvents,
  errorEvent,
  itemAdded,
  itemDone,
  messageEvents,
  type ResponsesAnswer,
  textDelta,
} from './events.ts';
import { functionCall, message } from './items.ts';
import { completed, created, failed, type IncompleteReason, incomplete, response } from './responses.ts';
import { frame, json } from './unusual-frames.ts';

const broken = { failed: 'SERVER_ERROR', code: 'providers_unavailable' } as const;

const finishReasons: Readonly<Record<IncompleteReason, FinishReason>> = {
  max_output_tokens: 'length',
  max_messages: 'length',
  steered: 'length',
  content_filter: 'content_filter',
};

// Object.keys widens the keys, which are reasons by the table's type.
const reasons = Object.keys(finishReasons) as IncompleteReason[];

const incompletes: readonly ResponsesAnswer[] = [
  ...reasons.map(
    (reason): ResponsesAnswer => ({
      name: `an incomplete response for the reason ${reason}`,
      events: [created(), textDelta('Once upon a ti'), incomplete(reason)],
      deltas: [text('Once upon a ti')],
      ending: finishReasons[reason],
    }),
  ),
  {
    name: 'an incomplete response without a reason',
    everySplit: true,
    events: [created(), textDelta('Once'), incomplete()],
    deltas: [text('Once')],
    ending: 'length',
  },
  {
    name: 'an incomplete response without details',
    events: [created(), textDelta('Once'), incomplete(undefined, { incomplete_details: null })],
    deltas: [text('Once')],
    ending: 'length',
  },
  {
    name: 'an incomplete response for a reason that is new',
    events: [
      created(),
      textDelta('Once'),
      frame({ type: 'response.incomplete', response: { incomplete_details: { reason: 'bored' } } }),
    ],
    deltas: [text('Once')],
    ending: 'length',
  },
  {
    name: 'an incomplete response after a whole tool call',
    events: [created(), ...callEvents('call_1', 'probe', ['{"a":1}']), incomplete('max_output_tokens')],
    deltas: [call(0, 'call_1', 'probe'), args(0, '{"a":1}')],
    ending: 'length',
  },
  {
    name: 'an incomplete response with nothing but a message that is only in its output',
    events: [created(), incomplete('content_filter', { output: [message('The first', { status: 'incomplete' })] })],
    deltas: [text('The first')],
    ending: 'content_filter',
  },
  {
    name: 'an incomplete response that says nothing',
    events: [created(), incomplete('content_filter')],
    deltas: [],
    ending: 'content_filter',
  },
  {
    name: 'an incomplete response with arguments of a call without a name',
    events: [created(), textDelta('Once'), argumentsDelta('{"a', 1), incomplete('max_output_tokens')],
    deltas: [text('Once')],
    ending: 'length',
  },
];

const statuses: readonly ResponsesAnswer[] = [
  {
    name: 'a completed event whose response is incomplete',
    events: [
      created(),
      textDelta('Once'),
      completed({ status: 'incomplete', incomplete_details: { reason: 'content_filter' } }),
    ],
    deltas: [text('Once')],
    ending: 'content_filter',
  },
  {
    name: 'a completed event whose response failed',
    events: [
      created(),
      textDelta('Once'),
      completed({ status: 'failed', error: { code: 'rate_limit_exceeded', message: 'x' } }),
    ],
    deltas: [text('Once')],
    ending: { failed: 'RATE_LIMITED', code: 'pool_exhausted', modelScoped: true },
  },
  {
    name: 'a completed event whose response was cancelled',
    events: [created(), textDelta('Once'), completed({ status: 'cancelled' })],
    deltas: [text('Once')],
    ending: broken,
  },
  {
    name: 'a completed event whose response says it is in progress',
    events: [created(), textDelta('Once.'), completed({ status: 'in_progress' })],
    deltas: [text('Once.')],
    ending: 'stop',
  },
  {
    name: 'an incomplete event whose response says it is complete',
    events: [created(), textDelta('Once'), incomplete('max_output_tokens', { status: 'completed' })],
    deltas: [text('Once')],
    ending: 'length',
  },
  {
    name: 'a response that was cancelled',
    events: [created(), textDelta('Once'), frame({ type: 'response.cancelled', response: response() })],
    deltas: [text('Once')],
    ending: broken,
  },
];

const afterwards: readonly ResponsesAnswer[] = [
  {
    name: 'an error after the end, which changes nothing',
    events: [created(), textDelta('Once.'), completed(), errorEvent('server_error')],
    deltas: [text('Once.')],
    ending: 'stop',
  },
  {
    name: 'more text after the end, which changes nothing',
    events: [created(), textDelta('Once.'), completed(), textDelta(' More.'), json('{broken')],
    deltas: [text('Once.')],
    ending: 'stop',
  },
  {
    name: 'two ends, of which the first counts',
    events: [created(), textDelta('Once.'), completed(), incomplete('content_filter'), failed('server_error')],
    deltas: [text('Once.')],
    ending: 'stop',
  },
  {
    name: 'an end after a failure, which changes nothing',
    events: [created(), textDelta('Once.'), errorEvent('slow_down'), completed()],
    deltas: [text('Once.')],
    ending: { failed: 'OVERLOADED', code: 'providers_unavailable' },
  },
];

/** Half an answer is not an answer: no finish reason, and never a silent end. */
const withoutEnd: readonly ResponsesAnswer[] = [
  { name: 'a stream without a byte', events: [], deltas: [], ending: broken },
  { name: 'a stream of comments only', events: [': keep-alive\n\n', ': keep-alive\n\n'], deltas: [], ending: broken },
  { name: 'a stream that ends after the response was created', events: [created()], deltas: [], ending: broken },
  {
    name: 'a stream that ends after a piece of text',
    everySplit: true,
    events: [created(), textDelta('Half an ans')],
    deltas: [text('Half an ans')],
    ending: broken,
  },
  {
    name: 'a stream that ends after a whole message',
    events: [created(), ...messageEvents(['All of it.'])],
    deltas: [text('All of it.')],
    ending: broken,
  },
  {
    name: 'a stream that ends within arguments',
    events: [created(), itemAdded(functionCall('call_1', 'probe')), argumentsDelta('{"a')],
    deltas: [call(0, 'call_1', 'probe'), args(0, '{"a')],
    ending: broken,
  },
  {
    name: 'a stream that ends after a whole tool call',
    events: [created(), itemDone(functionCall('call_1', 'probe', '{"a":1}'))],
    deltas: [call(0, 'call_1', 'probe'), args(0, '{"a":1}')],
    ending: broken,
  },
  {
    name: 'a stream that ends as a tool call begins',
    events: [created(), itemAdded(functionCall('call_1', 'probe'))],
    deltas: [call(0, 'call_1', 'probe')],
    ending: broken,
  },
  {
    name: 'a stream that [DONE] ends before its response has',
    everySplit: true,
    events: [created(), textDelta('Half'), 'data: [DONE]\n\n'],
    deltas: [text('Half')],
    ending: broken,
  },
];

export const endingCases: readonly ResponsesAnswer[] = [...incompletes, ...statuses, ...afterwards, ...withoutEnd];
