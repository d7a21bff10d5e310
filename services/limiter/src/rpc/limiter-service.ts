import { create } from '@bufbuild/protobuf';
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt';
import { GatewayError } from '@gateway/errors';
import { type Check, type Decision, dayForgottenAtMs, slicesOf } from '@gateway/limits';
import { CostKind, LimitName, LimitStatusSchema } from '@gateway/proto/limiter/v1/limit_pb.js';
import type {
  AdmitRequest,
  AdmitStreamRequest,
  HeartbeatRequest,
  LimiterService,
  PeekRequest,
  SettleRequest,
} from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import type { Caller, Handlers } from '@gateway/rpc';
import { addLocalDays, isLocalDay, type LocalDay, localDayOf } from '@gateway/time';
import type { Limiter } from '../limiter.ts';
import { countedGroup, countedKey } from './caller-keys.ts';

/** Handlers of `gateway.limiter.v1.LimiterService`. Streams end when `draining` is aborted. */
export function limiterHandlers(limiter: Limiter, draining: AbortSignal): Handlers<typeof LimiterService> {
  return {
    admit: (request, { caller }) => admit(limiter, request, caller),
    settle: (request, { caller }) => settle(limiter, request, caller),
    peek: (request, { caller }) => peek(limiter, request, caller),
    heartbeat: (request, { caller }) => heartbeat(limiter, request, caller),
    admitStream: (requests, { caller }) => admitStream(limiter, requests, draining, caller),
  };
}

/** Decides both limits of one request. */
async function admit(limiter: Limiter, request: AdmitRequest, caller: Caller | undefined): Promise<Decision> {
  const { requestId, limits, costKind } = request;
  const key = readKey(request.key, caller);
  checkText('request_id', requestId, 100);
  checkCostKind(costKind);
  return decide(limiter, { key, requestId, costKind, limits });
}

/** Reads both limits and changes nothing. */
async function peek(limiter: Limiter, { key: given, limits }: PeekRequest, caller: Caller | undefined) {
  const key = readKey(given, caller);
  const { status } = await decide(limiter, { key, limits, requestId: '', costKind: CostKind.REQUEST_ONLY });
  return { status };
}

/** Asks the store, which may need the day's total from the ledger first. */
async function decide({ store, dayTotals, clock, metrics }: Limiter, check: Check): Promise<Decision> {
  const { key, requestId, limits: { requestsPerMinute, tokensPerDay } = {} } = check;
  if (tokensPerDay !== undefined) readAmount('limits.tokens_per_day', tokensPerDay);
  else if (requestsPerMinute === undefined) {
    return { status: create(LimitStatusSchema, { localDay: localDayOf(clock.nowMs()) }) };
  }
  const decision = await dayTotals.ask(key, (hasLedger) => store.admit({ ...check, hasLedger }));
  const { status, refusal } = decision;
  if (requestId !== '')
    metrics.decisions.inc({ decision: refusal === undefined ? 'admitted' : refusedBy[refusal.limit] });
  if (tokensPerDay !== undefined && status !== undefined) dayTotals.noteUse(key, status.localDay);
  return decision;
}

const refusedBy = {
  [LimitName.UNSPECIFIED]: 'unspecified',
  [LimitName.REQUESTS_PER_MINUTE]: 'requests_per_minute',
  [LimitName.TOKENS_PER_DAY]: 'tokens_per_day',
};

/** Adds the tokens to their day and returns the day's total. */
async function settle({ store, dayTotals, clock }: Limiter, request: SettleRequest, caller: Caller | undefined) {
  const { requestId } = request;
  const key = readKey(request.key, caller);
  checkText('request_id', requestId, 100);
  const localDay = readLocalDay(request.localDay);
  const tokens = readAmount('tokens', request.tokens);
  const state = dayState(localDay, clock.nowMs());
  if (state === 'future') throw new GatewayError('invalid_request', 'local_day is in the future.');
  // The budget of that day no longer limits anything, and its counter is gone.
  if (state === 'over') return { usedTokens: request.tokens };
  const total = await store.settle({ key, requestId, localDay, tokens, hasLedger: dayTotals.covers(key) });
  if (request.late) dayTotals.noteLateSettle(key, localDay);
  else dayTotals.noteUse(key, localDay);
  // Loaded now, because otherwise the next admission would have to wait for it.
  const loaded = total.isLoaded ? undefined : await dayTotals.load(key, localDay);
  return { usedTokens: BigInt(loaded?.usedTokensAfter ?? total.usedTokens) };
}

/**
 * Records that a replica of a caller is alive, and what it admitted by itself. Returns its place,
 * if known.
 */
async function heartbeat({ store }: Limiter, request: HeartbeatRequest, caller: Caller | undefined) {
  const { group, replicaId, admissions, lastAnsweredAt } = request;
  if (admissions.length > 1_000) {
    throw new GatewayError('invalid_request', 'admissions must have at most 1000 entries.');
  }
  const counted = admissions.map(({ key, requestId, ageMs }) => {
    checkText('request_id', requestId, 100);
    return { key: readKey(key, caller), requestId, ageMs };
  });
  checkText('group', group, 100);
  checkText('replica_id', replicaId, 100);
  const lastAnsweredAtMs = lastAnsweredAt && timestampMs(lastAnsweredAt);
  const beat = { group: countedGroup(group, caller), replicaId, admissions: counted, lastAnsweredAtMs };
  const { answeredAtMs, longestSilenceMs = 0, ...place } = (await store.heartbeat(beat)) ?? {};
  return {
    ...place,
    longestSilenceMs,
    answeredAt: answeredAtMs === undefined ? undefined : timestampFromMs(answeredAtMs),
  };
}

/**
 * Decides batches of checks one after the other, and answers them in order. When the service
 * drains, it answers the batch that it has read and ends the stream; the caller opens another one.
 * An invalid check ends the stream with its error.
 */
export async function* admitStream(
  limiter: Limiter,
  requests: AsyncIterable<AdmitStreamRequest>,
  draining: AbortSignal,
  caller?: Caller,
) {
  for await (const { checks } of until(draining, requests)) {
    const decisions: Decision[] = [];
    for (const some of slicesOf(checks)) {
      decisions.push(...(await Promise.all(some.map((check) => admit(limiter, check, caller)))));
    }
    yield { decisions };
  }
}

/** The values of `source` until the signal is aborted. */
async function* until<T>(stop: AbortSignal, source: AsyncIterable<T>): AsyncGenerator<T> {
  const iterator = source[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await nextUntil(stop, iterator);
      if (next?.done !== false) return;
      yield next.value;
    }
  } finally {
    // Not awaited: a source that waits for its caller would delay the end.
    iterator.return?.().catch(() => undefined);
  }
}

/**
 * Undefined when the signal is aborted first. The signal outlives the stream, so the listener must
 * be removed.
 */
function nextUntil<T>(stop: AbortSignal, iterator: AsyncIterator<T>): Promise<IteratorResult<T> | undefined> {
  return new Promise((resolve, reject) => {
    const end = () => resolve(undefined);
    if (stop.aborted) end();
    stop.addEventListener('abort', end, { once: true });
    const release = () => stop.removeEventListener('abort', end);
    iterator.next().then(resolve, reject).finally(release);
  });
}

/** The key under which a caller's key is counted. */
export function readKey(key: string, caller: Caller | undefined): string {
  checkText('key', key, 200);
  return countedKey(key, caller);
}

/** @throws GatewayError `invalid_request`, like all these functions. */
export function checkText(name: string, text: string, maxBytes: number): void {
  if (text !== '' && Buffer.byteLength(text) <= maxBytes) return;
  throw new GatewayError('invalid_request', `${name} must have 1 to ${maxBytes} bytes.`);
}

function checkCostKind(costKind: CostKind): void {
  if (costKind in CostKind) return;
  throw new GatewayError('invalid_request', `cost_kind ${costKind} is unknown.`);
}

/** Reads a number of tokens. */
function readAmount(name: string, amount: bigint): number {
  // A number that is not exact is not a safe integer either.
  const number = Number(amount);
  if (number >= 0 && Number.isSafeInteger(number)) return number;
  throw new GatewayError('invalid_request', `${name} must be from 0 to ${Number.MAX_SAFE_INTEGER}.`);
}

export function readLocalDay(text: string): LocalDay {
  if (isLocalDay(text)) return text;
  throw new GatewayError('invalid_request', 'local_day must be a day such as 2026-11-20.');
}

/**
 * Whether the tokens of that day still matter (`open`), no longer limit anything (`over`), or can't
 * exist yet (`future`).
 */
export function dayState(day: LocalDay, nowMs: number): 'open' | 'over' | 'future' {
  const today = localDayOf(nowMs);
  // A caller's clock may already be past midnight, so tomorrow is accepted.
  if (day > today && day > addLocalDays(today, 1)) return 'future';
  return nowMs < dayForgottenAtMs(day) ? 'open' : 'over';
}
