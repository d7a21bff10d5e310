import { create } from '@bufbuild/protobuf';
import {
  type Check,
  type CounterName,
  chargesOf,
  countersOf,
  type Decision,
  daySpan,
  type Reservation,
  slicesOf,
  subjectsOf,
} from '@gateway/limits';
import { CostKind, LimitName, LimitStatusSchema } from '@gateway/proto/limiter/v2/limit_pb.js';
import type {
  AdmitRequest,
  AdmitStreamRequest,
  HeartbeatRequest,
  LimiterService,
  PeekRequest,
  RenewRequest,
  ReserveRequest,
  SettleRequest,
} from '@gateway/proto/limiter/v2/limiter_service_pb.js';
import type { Caller, Handlers } from '@gateway/rpc';
import { epochMs, localDayOf } from '@gateway/time';
import type { Limiter } from '../limiter.ts';
import { countedGroup } from './caller-keys.ts';
import {
  checkCostKind,
  checkEntries,
  checkText,
  readAmount,
  readGroup,
  readKey,
  readKnown,
  readLimits,
  readLocalDay,
  readOpenDay,
} from './read-terms.ts';

/** Handlers of `gateway.limiter.v2.LimiterService`. Streams end when `draining` is aborted. */
export function limiterHandlers(limiter: Limiter, draining: AbortSignal): Handlers<typeof LimiterService> {
  return {
    admit: (request, { caller }) => admit(limiter, request, caller),
    settle: (request, { caller }) => settle(limiter, request, caller),
    reserve: (request, { caller }) => reserve(limiter, request, caller),
    renew: (request, { caller }) => renew(limiter, request, caller),
    peek: (request, { caller }) => peek(limiter, request, caller),
    heartbeat: (request, { caller }) => heartbeat(limiter, request, caller),
    admitStream: (requests, { caller }) => admitStream(limiter, requests, draining, caller),
  };
}

/** Decides all limits of one request. */
async function admit(limiter: Limiter, request: AdmitRequest, caller: Caller | undefined): Promise<Decision> {
  const { requestId, costKind } = request;
  const key = readKey(request.key, caller);
  checkText('request_id', requestId, 100);
  checkCostKind(costKind);
  const terms = termsOf(request, key, caller);
  return decide(limiter, { ...terms, requestId, costKind, knownTotals: request.knownTotals.map(readKnown(terms)) });
}

/** Reads all limits and changes nothing. */
async function peek(limiter: Limiter, request: PeekRequest, caller: Caller | undefined) {
  const terms = termsOf(request, readKey(request.key, caller), caller);
  const { status, groupStatus } = await decide(limiter, {
    ...terms,
    requestId: '',
    costKind: CostKind.REQUEST_ONLY,
  });
  return { status, groupStatus };
}

function termsOf({ limits, group }: Pick<AdmitRequest, 'limits' | 'group'>, key: string, caller: Caller | undefined) {
  const read = { key, limits: readLimits('limits', limits, key) };
  return group === undefined ? read : { ...read, group: readGroup(group, caller) };
}

/** Asks the store, which may need totals from the ledger first. */
async function decide({ store, totals, metrics }: Limiter, check: Check): Promise<Decision> {
  if (!subjectsOf(check).some(({ limits }) => isLimited(limits))) {
    return { status: create(LimitStatusSchema, { localDay: localDayOf(epochMs()) }) };
  }
  const decision = await totals.ask(check, (covered) => store.admit(covered));
  const { status, refusal } = decision;
  if (check.requestId !== '')
    metrics.decisions.inc({ decision: refusal === undefined ? 'admitted' : LimitName[refusal.limit].toLowerCase() });
  if (status === undefined) return decision;
  for (const subject of subjectsOf(check)) {
    for (const counter of countersOf(subject, status.localDay)) totals.noteUse(counter);
  }
  return decision;
}

function isLimited({ requestsPerMinute, tokensPerDay, concurrentRequests, budget }: Check['limits'] = {}): boolean {
  return [requestsPerMinute, tokensPerDay, concurrentRequests, budget].some((limit) => limit !== undefined);
}

/** Reserves what a request can cost, and what it can use. */
async function reserve({ store, totals, metrics }: Limiter, request: ReserveRequest, caller: Caller | undefined) {
  const reservation = readReservation(request, caller);
  if (readOpenDay(request.localDay, epochMs()).isOver) return {};
  const refusal = await store.reserve(totals.covered(reservation));
  if (refusal !== undefined) metrics.decisions.inc({ decision: LimitName[refusal.limit].toLowerCase() });
  return { refusal };
}

function readReservation(request: ReserveRequest, caller: Caller | undefined): Reservation {
  const { requestId } = request;
  checkText('request_id', requestId, 100);
  return {
    ...termsOf(request, readKey(request.key, caller), caller),
    requestId,
    localDay: readLocalDay(request.localDay),
    costMicros: readAmount('cost_micros', request.costMicros),
    tokens: readAmount('tokens', request.tokens),
  };
}

/** Adds what a request used to its counters, and returns their values. */
async function settle({ store, totals }: Limiter, request: SettleRequest, caller: Caller | undefined) {
  const { requestId, ended } = request;
  const key = readKey(request.key, caller);
  checkText('request_id', requestId, 100);
  const { localDay, isOver } = readOpenDay(request.localDay, epochMs());
  const tokens = readAmount('tokens', request.tokens);
  const costMicros = readAmount('cost_micros', request.costMicros);
  const terms = totals.covered(termsOf(request, key, caller));
  // The limits of that day no longer limit anything, and its counters are gone.
  if (isOver) return { usedTokens: request.tokens };
  const settlement = { ...terms, requestId, localDay, tokens, costMicros, ended };
  const total = await store.settle(settlement);
  const ofKey = { key, groupKey: terms.group?.key, span: daySpan(localDay) };
  for (const { counter } of chargesOf(settlement)) {
    if (request.late) totals.noteLateSettle(counter);
    else totals.noteUse(counter);
  }
  // Loaded now, because otherwise the next admission would have to wait for it.
  const load = async (isMissing: boolean, counter: CounterName) => (isMissing ? totals.load(counter) : undefined);
  const [loaded] = await Promise.all([
    load(!total.isLoaded, ofKey),
    ...(total.unloaded ?? []).map((counter) => load(true, counter)),
  ]);
  return {
    usedTokens: loaded?.usedTokensAfter ?? total.usedTokens,
    groupUsedTokens: total.groupUsedTokens ?? 0,
    groupSpentMicros: total.groupSpentMicros ?? 0,
    totalsUnknown: total.isLoaded ? total.unloaded !== undefined : loaded === undefined,
  };
}

/** Keeps what running requests hold. */
async function renew({ store, totals }: Limiter, { running }: RenewRequest, caller: Caller | undefined) {
  checkEntries('running', running);
  await store.renew(running.map((each) => totals.covered(readReservation(each, caller))));
  return {};
}

/** Records that a replica of a caller is alive, and what it admitted. Returns its place. */
async function heartbeat({ store }: Limiter, request: HeartbeatRequest, caller: Caller | undefined) {
  const { group, replicaId, admissions, lastAnsweredAtMs } = request;
  checkEntries('admissions', admissions);
  const counted = admissions.map(({ key, groupKey, requestId, ageMs, returned: isReturned }) => {
    checkText('request_id', requestId, 100);
    const ofGroup = groupKey === '' ? {} : { groupKey: readKey(groupKey, caller) };
    return { key: readKey(key, caller), ...ofGroup, requestId, ageMs, ...(isReturned && { isReturned }) };
  });
  checkText('group', group, 100);
  checkText('replica_id', replicaId, 100);
  if (lastAnsweredAtMs !== undefined) readAmount('last_answered_at_ms', lastAnsweredAtMs);
  const beat = { group: countedGroup(group, caller), replicaId, admissions: counted, lastAnsweredAtMs };
  const { answeredAtMs, longestSilenceMs = 0, isNew = false, ...place } = (await store.heartbeat(beat)) ?? {};
  return { ...place, longestSilenceMs, answeredAtMs, new: isNew };
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
