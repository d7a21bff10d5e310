import type { ExpectedFailure } from '@gateway/testkit/adapters';
import { errorEvent, itemAdded, partAdded, type ResponsesAnswer, summaryDelta } from './events.ts';
import {
  failuresByCode,
  failuresByOtherCode,
  limited,
  modelLimited,
  overloaded,
  rejected,
  serverError,
} from './failures.ts';
import { message, reasoning, textPart } from './items.ts';
import { created, type FailureCode, failed, inProgress, queued, response } from './responses.ts';
import { altered, frame, json, lines } from './unusual-frames.ts';

// Object.keys widens the keys, which are codes by the table's type.
const codes = Object.keys(failuresByCode) as FailureCode[];

const byCode: readonly ResponsesAnswer[] = [
  ...codes.map(
    (code): ResponsesAnswer => ({
      name: `a response that failed with ${code}`,
      events: [created(), failed(code)],
      deltas: [],
      ending: failuresByCode[code],
    }),
  ),
  ...Object.entries(failuresByOtherCode).map(
    ([code, ending]): ResponsesAnswer => ({
      name: `an error event with ${code}`,
      events: [created(), errorEvent(code)],
      deltas: [],
      ending,
    }),
  ),
];

/** The same failures in the shapes that backends give them. */
function shaped(name: string, frames: ResponsesAnswer['events'], ending: ExpectedFailure, everySplit?: true) {
  return { name, events: frames, deltas: [], ending, everySplit } satisfies ResponsesAnswer;
}

const nested = (error: object) => frame({ type: 'error', sequence_number: 1, error });
const failedWith = (error: unknown) => frame({ type: 'response.failed', response: { ...response(), error } });

const shapes: readonly ResponsesAnswer[] = [
  shaped('an error as the first event', [errorEvent('server_is_overloaded')], overloaded, true),
  shaped(
    'an error after all that comes before an answer',
    [created(), queued(), inProgress(), errorEvent('slow_down')],
    overloaded,
  ),
  shaped(
    'an error after a message began, which is before any content',
    [created(), itemAdded(message([])), partAdded(textPart('')), errorEvent('server_error')],
    serverError,
  ),
  shaped(
    'an error after reasoning, which is before any content',
    [created(), itemAdded(reasoning()), summaryDelta('Hm.'), failed('rate_limit_exceeded')],
    modelLimited,
  ),
  shaped(
    'an error object within the event',
    [created(), nested({ type: 'invalid_request_error', code: 'context_length_exceeded', message: 'Too long: "é".' })],
    rejected,
    true,
  ),
  shaped(
    'an error of which only the type says what it is',
    [nested({ type: 'usage_limit_reached', code: null })],
    limited,
  ),
  shaped(
    'an error whose code is new, but not its type',
    [nested({ type: 'invalid_request_error', code: 'odd' })],
    rejected,
  ),
  shaped('an error whose code is a number', [nested({ type: 'server_error', code: 429 })], serverError),
  shaped('an error without a code', [errorEvent(null)], serverError),
  shaped(
    'an error object without a type of event',
    [json('{"error":{"code":"slow_down","message":"x"}}')],
    overloaded,
    true,
  ),
  shaped('an error that only the event line names', [lines('event: error', 'data: {"code":"slow_down"}')], overloaded),
  shaped('an error that is a text', [json('{"type":"error","error":"slow_down"}')], serverError),
  shaped('an empty error event', [json('{"type":"error"}')], serverError),
  shaped('a failed response whose error is null', [created(), failedWith(null)], serverError),
  shaped('a failed response whose error has no code', [created(), failedWith({ message: 'x' })], serverError),
  shaped('a failed event without a response', [created(), frame({ type: 'response.failed' })], serverError),
];

const now = 1_795_132_800;
const limitReached = (members: object) => nested({ type: 'usage_limit_reached', message: 'x', ...members });

const resets: readonly ResponsesAnswer[] = [
  shaped('a limit with the moment of its reset', [limitReached({ resets_at: now + 7_200 })], until(now + 7_200)),
  shaped('a limit with the time to its reset', [limitReached({ resets_in_seconds: 90 })], until(now + 90)),
  shaped(
    'a limit with both, of which the moment counts',
    [limitReached({ resets_at: now + 7_200, resets_in_seconds: 90 })],
    until(now + 7_200),
  ),
  shaped('a limit whose reset has passed', [limitReached({ resets_at: now - 60 })], limited),
  shaped('a limit whose reset is a text', [limitReached({ resets_at: 'soon' })], limited),
  shaped(
    'a limit of a failed response with the time to its reset',
    [created(), failedWith({ code: 'rate_limit_exceeded', message: 'x', resets_in_seconds: 1.5 })],
    { ...modelLimited, retryAtMs: now * 1_000 + 1_500 },
  ),
  shaped('an overload with the time to come back', [nested({ code: 'slow_down', resets_in_seconds: 30 })], {
    ...overloaded,
    retryAtMs: (now + 30) * 1_000,
  }),
  shaped(
    'a server error, whose time to come back is of no account',
    [nested({ code: 'server_error', resets_in_seconds: 30 })],
    serverError,
  ),
];

interface Window {
  readonly used_percent: number;
  readonly reset_at?: unknown;
}

/** What a subscription backend sends of the account's windows. */
const rateLimits = (primary: Window | null, secondary: Window | null = null) =>
  frame({ type: 'codex.rate_limits', plan_type: 'plus', rate_limits: { primary, secondary }, credits: null });

const used = (seconds: number) => ({ used_percent: 100, window_minutes: 300, reset_at: now + seconds });
const free = (seconds: number) => ({ used_percent: 99.5, window_minutes: 300, reset_at: now + seconds });

const windows: readonly ResponsesAnswer[] = [
  shaped(
    'a used-up window before the failure, which is of the account then',
    [rateLimits(used(60)), failed('rate_limit_exceeded')],
    until(now + 60),
  ),
  shaped(
    'two used-up windows, of which the last reset counts',
    [rateLimits(used(60), used(9_000)), failed('rate_limit_exceeded')],
    until(now + 9_000),
  ),
  shaped(
    'a used-up window beside a free one',
    [rateLimits(free(60), used(900)), errorEvent('usage_limit_reached')],
    until(now + 900),
  ),
  shaped(
    'windows of which none is used up',
    [rateLimits(free(60), free(900)), failed('rate_limit_exceeded')],
    modelLimited,
  ),
  shaped(
    'a reset in the error, which counts before that of the window',
    [rateLimits(used(60)), limitReached({ resets_in_seconds: 5 })],
    until(now + 5),
  ),
  shaped(
    'the latest report of windows, which counts',
    [rateLimits(used(60)), rateLimits(free(60)), failed('rate_limit_exceeded')],
    modelLimited,
  ),
  shaped(
    'a used-up window whose reset has passed',
    [rateLimits(used(-60)), failed('rate_limit_exceeded')],
    modelLimited,
  ),
  shaped(
    'a used-up window whose reset no date can hold',
    [rateLimits({ used_percent: 100, reset_at: 1e300 }), failed('rate_limit_exceeded')],
    modelLimited,
  ),
  shaped(
    'a used-up window without a reset',
    [rateLimits({ used_percent: 100 }), failed('rate_limit_exceeded')],
    modelLimited,
  ),
  shaped('a used-up window before a server error', [rateLimits(used(60)), failed('server_error')], serverError),
  shaped(
    'rate limits of no known shape',
    [altered({ type: 'codex.rate_limits' }, { rate_limits: 'none' }), failed('rate_limit_exceeded')],
    modelLimited,
  ),
];

export const errorBeforeContentCases: readonly ResponsesAnswer[] = [...byCode, ...shapes, ...resets, ...windows];

function until(seconds: number): ExpectedFailure {
  return { ...limited, retryAtMs: seconds * 1_000 };
}
