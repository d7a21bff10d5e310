import { addAbortListener } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import type { Check, Clock, Level, Need, Scene } from './check.ts';
import type { ProviderDouble } from './double/provider-double.ts';
import type { Outcome, Result } from './report/result.ts';
import type { Endpoint, Target } from './target/endpoints.ts';
import { GatewayClient, reasonOf } from './target/gateway-client.ts';
import { NotApplicable, Violation } from './verdict.ts';

export interface RunOptions {
  readonly target: Target;
  /** Present if we can script the providers behind the gateway. */
  readonly double?: ProviderDouble | undefined;
  readonly checks: readonly Check[];
  /** All by default; the same applies to endpoints and names. */
  readonly levels?: readonly Level[] | undefined;
  readonly endpoints?: readonly Endpoint[] | undefined;
  readonly only?: readonly string[] | undefined;
  /**
   * The number of simultaneous checks. Checks of the limited token always run one after the other,
   * in the order of the list.
   */
  readonly concurrency?: number;
  /** For a check without its own timeout. */
  readonly checkTimeoutMs?: number;
  /** The clock by which the gateway counts its limits, if it is not the time of day. */
  readonly clock?: Clock;
  readonly signal?: AbortSignal;
}

/** Runs every check that applies to the target, and yields the results as they come. */
export async function* runChecks(options: RunOptions): AsyncIterable<Result> {
  const { concurrency = 4, signal } = options;
  const waiting = heldTo(options);
  const running = new Map<Check, Promise<Result>>();
  const leaving = new AbortController();
  const ended = AbortSignal.any([leaving.signal, ...(signal === undefined ? [] : [signal])]);
  try {
    while (waiting.length > 0 || running.size > 0) {
      for (let next = nextOf(waiting, running); next && running.size < concurrency; next = nextOf(waiting, running)) {
        waiting.splice(waiting.indexOf(next), 1);
        running.set(next, tried(next, options, ended));
      }
      const result = await Promise.race(running.values());
      signal?.throwIfAborted();
      running.delete(result.check);
      yield result;
    }
  } finally {
    leaving.abort();
    await Promise.allSettled(running.values());
  }
}

/** The checks to run: those of endpoints that the gateway claims. */
export function heldTo({ target, checks, levels, endpoints, only }: Omit<RunOptions, 'signal'>): Check[] {
  const chosen = checks.filter(
    (check) =>
      check.endpoints.every((endpoint) => target.models[endpoint] !== undefined) &&
      (levels?.includes(check.level) ?? true) &&
      (only?.includes(check.name) ?? true) &&
      (endpoints === undefined || check.endpoints.some((endpoint) => endpoints.includes(endpoint))),
  );
  // Checks that wait for a limit start first. Checks that run alone come last, those that need
  // every account first among them.
  return chosen.toSorted((one, other) => rankOf(one) - rankOf(other));
}

function rankOf(check: Check): number {
  if (usesUpALimit(check)) return 0;
  if (!check.alone) return 1;
  return check.needs?.includes('second-account') ? 2 : 3;
}

function nextOf(waiting: readonly Check[], running: ReadonlyMap<Check, unknown>): Check | undefined {
  const others = [...running.keys()];
  return waiting.find((check) => others.every((other) => goTogether(check, other)));
}

function goTogether(check: Check, running: Check): boolean {
  if (check.alone || running.alone) return running.timeoutMs !== undefined && !running.alone;
  return !usesUpALimit(check) || !usesUpALimit(running);
}

function usesUpALimit({ needs = [] }: Check): boolean {
  return needs.includes('limited-token');
}

async function tried(check: Check, options: RunOptions, ended: AbortSignal): Promise<Result> {
  const began = performance.now();
  const missing = check.needs?.find((need) => !isThere[need](options));
  const outcome: Outcome =
    missing === undefined ? await outcomeOf(check, options, ended) : { kind: 'skipped', why: reasons[missing] };
  return { check, outcome, milliseconds: Math.round(performance.now() - began) };
}

async function outcomeOf(
  check: Check,
  { target, double, checkTimeoutMs = defaultTimeoutMs, clock = timeOfDay }: RunOptions,
  ended: AbortSignal,
): Promise<Outcome> {
  const timeoutMs = Math.max(checkTimeoutMs, check.timeoutMs ?? 0);
  const signal = AbortSignal.any([ended, AbortSignal.timeout(timeoutMs)]);
  await using gateway = new GatewayClient(target, signal);
  const broken = (found: string): Outcome => ({ kind: 'broken', found, exchanges: gateway.exchanges });
  const scene: Scene = {
    gateway,
    double,
    modelOf: (endpoint) => modelOf(target, endpoint),
    limit: target.limitedRequestsPerMinute ?? 0,
    clock,
    signal,
  };
  try {
    await withinTime(check.run(scene), signal);
    return { kind: 'kept' };
  } catch (thrown) {
    if (thrown instanceof NotApplicable) return { kind: 'skipped', why: thrown.message };
    if (thrown instanceof Violation) return broken(thrown.message);
    if (signal.aborted) return broken(`it did not end within ${timeoutMs / 1_000} s`);
    return broken(`the answer cannot be parsed: ${reasonOf(thrown)}`);
  }
}

/** Ends even if a check ignores its signal. */
async function withinTime(run: Promise<void>, signal: AbortSignal): Promise<void> {
  const over = Promise.withResolvers<never>();
  using _ = addAbortListener(signal, () => over.reject(signal.reason));
  await Promise.race([run, over.promise]);
}

const defaultTimeoutMs = 20_000;

const timeOfDay: Clock = {
  nowMs: () => Date.now(),
  wait: (ms, signal) => setTimeout(ms, undefined, { signal }),
};

function modelOf({ models }: Target, endpoint: Endpoint): string {
  const model = models[endpoint];
  if (model === undefined) throw new NotApplicable(`no model is known for the endpoint ${endpoint}`);
  return model;
}

const isThere: Readonly<Record<Need, (options: RunOptions) => boolean>> = {
  double: ({ double }) => double !== undefined,
  'limited-token': ({ target: { limitedToken, limitedRequestsPerMinute } }) =>
    limitedToken !== undefined && limitedRequestsPerMinute !== undefined,
  'second-account': ({ double, target: { hasSecondAccount } }) => double !== undefined && hasSecondAccount === true,
};

const reasons: Readonly<Record<Need, string>> = {
  double: 'the provider behind the gateway is not the double',
  'limited-token': 'there is no token with a known limit',
  'second-account': 'the gateway is not known to have two accounts of the double',
};
