import { args, call, type Delta, type ExpectedFailure, text } from '@gateway/testkit/adapters';
import {
  blockStart,
  broken,
  type Events,
  end,
  errorEvent,
  type MessagesAnswer,
  oddEvent,
  ping,
  start,
  startUsage,
  textBlock,
  thinkingBlock,
  toolBlock,
} from './events.ts';

const limited: ExpectedFailure = { failed: 'RATE_LIMITED', code: 'pool_exhausted' };
const refusedAccount: ExpectedFailure = { failed: 'UNAUTHORIZED', code: 'providers_unavailable' };
const overloaded: ExpectedFailure = { failed: 'OVERLOADED', code: 'providers_unavailable' };
const timedOut: ExpectedFailure = { failed: 'TIMEOUT', code: 'providers_unavailable' };
const rejected: ExpectedFailure = { failed: 'REJECTED', code: 'upstream_rejected' };
const unknownModel: ExpectedFailure = { failed: 'MODEL_UNAVAILABLE', code: 'model_not_found' };
const serverError = broken;

/** What each kind of error means, shown as the first event after the 200. */
const firstEvents: readonly MessagesAnswer[] = [
  first('overloaded', errorEvent('overloaded_error', 'Overloaded'), overloaded, true),
  first('limited', errorEvent('rate_limit_error', "This request would exceed your account's rate limit."), limited),
  first('limited for this model', errorEvent('rate_limit_error', 'Extra usage is required for this model.'), {
    ...limited,
    modelScoped: true,
  }),
  first('no long context', errorEvent('rate_limit_error', 'Extra usage is required for long context requests.'), {
    failed: 'FEATURE_UNAVAILABLE',
    code: 'upstream_rejected',
  }),
  first('an internal error', errorEvent('api_error', 'Internal server error'), serverError),
  first('a timeout', errorEvent('timeout_error'), timedOut),
  first('a request that is refused', errorEvent('invalid_request_error', 'messages: at least one'), rejected),
  first(
    'a prompt that is too long',
    errorEvent('invalid_request_error', 'prompt is too long: 210000 tokens'),
    rejected,
  ),
  first(
    'a limit and a prompt that are too long together',
    errorEvent('invalid_request_error', 'input length and `max_tokens` exceed context limit: 1'),
    rejected,
  ),
  first('a request that is too large', oddError('request_too_large'), rejected),
  first('a model that is not there', errorEvent('not_found_error', 'model: claude-9'), unknownModel),
  first('a credential that is refused', errorEvent('authentication_error', 'OAuth token has expired'), refusedAccount),
  first('an account without permission', errorEvent('permission_error'), refusedAccount),
  first('an account with a billing problem', errorEvent('billing_error'), refusedAccount),
  first(
    'an account that is disabled',
    errorEvent('invalid_request_error', 'This organization has been disabled.'),
    refusedAccount,
  ),
  first(
    'an account without credit',
    errorEvent('invalid_request_error', 'Your credit balance is too low to go on.'),
    refusedAccount,
  ),
  first(
    'an account over its spend limit',
    errorEvent('invalid_request_error', 'You have reached your specified API usage limits.'),
    refusedAccount,
  ),
  first(
    'an account that must identify itself',
    errorEvent('invalid_request_error', 'Identity verification is required.'),
    refusedAccount,
  ),
  first(
    'words of the request that sound like an account problem',
    errorEvent('invalid_request_error', 'messages.0: "Your credit balance is too low"'),
    rejected,
  ),
  first('a conflict', oddError('conflict_error'), { failed: 'REJECTED', code: 'providers_unavailable' }),
  first('a type that is not known', oddError('novelty_error'), serverError),
  first('no type', oddEvent({ type: 'error', error: { message: 'PROVIDER TEXT' } }), serverError),
  first('error null', oddEvent({ type: 'error', error: null }), serverError),
  first('no error member', oddEvent({ type: 'error' }), serverError),
  first(
    'an error of another format',
    oddEvent({ type: 'error', error: { code: 500, message: 'PROVIDER TEXT' } }),
    serverError,
  ),
  first(
    'details on which client libraries act',
    oddEvent({
      type: 'error',
      error: { type: 'not_found_error', message: '', details: { error_code: 'thread_not_found' } },
    }),
    rejected,
  ),
  first('the name on the event line only', 'event: error\ndata: {"error":{"type":"overloaded_error"}}\n\n', overloaded),
  first(
    'the event line says error, the type another thing',
    'event: error\ndata: {"type":"overloaded_error"}\n\n',
    serverError,
  ),
  first('no event line', 'data: {"type":"error","error":{"type":"overloaded_error"}}\n\n', overloaded),
  first('text that is no JSON', 'event: error\ndata: Internal Server Error\n\n', serverError),
];

/** Nothing has reached the client: hasContent stays false, so another attempt can be made. */
const beforeContent: readonly MessagesAnswer[] = [
  failed('an error after the start, before the first content', [], [], overloaded, true),
  failed('an error after pings', [ping, ping], [], overloaded),
  failed('an error after an empty text block', textBlock(0), [], overloaded),
  failed('an error after thinking', thinkingBlock(0, 'Hm.'), [], overloaded),
  failed('an error within a block that is not for clients', thinkingBlock(0, 'Hm.').slice(0, 2), [], overloaded),
];

/** Part of the answer has gone out. */
const afterContent: readonly MessagesAnswer[] = [
  failed('an error after text', textBlock(0, 'Ye'), [text('Ye')], overloaded, true),
  failed('an error in the midst of a text block', textBlock(0, 'Ye').slice(0, 2), [text('Ye')], overloaded),
  failed(
    'an error in the midst of arguments',
    toolBlock(0, 'toolu_01', 'look', '{"at').slice(0, -1),
    [call(0, 'toolu_01', 'look'), args(0, '{"at')],
    overloaded,
    true,
  ),
  failed(
    'an error right after a call has begun',
    [blockStart(0, { type: 'tool_use', id: 'a', name: 'look', input: {} })],
    [call(0, 'a', 'look')],
    overloaded,
  ),
  {
    name: 'an error between the stop reason and the end: no finish reason',
    events: [start(), ...textBlock(0, 'Yes'), ...end('end_turn').slice(0, 1), errorEvent('api_error')],
    deltas: [text('Yes')],
    ending: serverError,
    usage: { ...startUsage, outputTokens: 5 },
  },
  {
    name: 'nothing is read after an error, not even an end',
    events: [start(), ...textBlock(0, 'Ye'), errorEvent('api_error'), ...textBlock(1, 's'), ...end('end_turn')],
    deltas: [text('Ye')],
    ending: serverError,
    usage: startUsage,
  },
  {
    name: 'of two errors the first one counts',
    events: [start(), ...textBlock(0, 'Ye'), errorEvent('rate_limit_error'), errorEvent('api_error')],
    deltas: [text('Ye')],
    ending: limited,
    usage: startUsage,
  },
];

export const errorCases: readonly MessagesAnswer[] = [...firstEvents, ...beforeContent, ...afterContent];

function first(what: string, event: Events[number], ending: ExpectedFailure, everySplit?: true): MessagesAnswer {
  return {
    name: `an error as the first event: ${what}`,
    events: [event],
    deltas: [],
    ending,
    ...(everySplit && { everySplit }),
  };
}

function failed(
  name: string,
  blocks: Events,
  deltas: readonly Delta[],
  ending: ExpectedFailure,
  everySplit?: true,
): MessagesAnswer {
  const events = [start(), ...blocks, errorEvent('overloaded_error')];
  return { name, events, deltas, ending, usage: startUsage, ...(everySplit && { everySplit }) };
}

function oddError(type: string): string {
  return oddEvent({ type: 'error', error: { type, message: 'PROVIDER TEXT' }, request_id: null });
}
