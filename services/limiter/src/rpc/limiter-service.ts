import { type Check, type Decision, slicesOf } from '@gateway/limits';
import { CostKind } from '@gateway/proto/limiter/v2/limit_pb.js';
import type {
  AdmitRequest,
  AdmitStreamRequest,
  LimiterService,
  ReserveRequest,
  SettleRequest,
} from '@gateway/proto/limiter/v2/limiter_service_pb.js';
import type { Caller, Handlers } from '@gateway/rpc';
import { epochMs } from '@gateway/time';
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
    admit: (request, { caller }) => limiter.admit(readCheck(request, caller)),

    async peek(request, { caller }) {
      const reading = { ...readTerms(request, caller), requestId: '', costKind: CostKind.REQUEST_ONLY };
      const { status, groupStatus } = await limiter.admit(reading);
      return { status, groupStatus };
    },

    async reserve(request, { caller }) {
      const reservation = readReservation(request, caller);
      if (readOpenDay(request.localDay, epochMs()).isOver) return {};
      return { refusal: await limiter.reserve(reservation) };
    },

    async settle(request, { caller }) {
      const { ended, late } = request;
      const settlement = { ...readReservation(request, caller), ended, late };
      // The limits of that day no longer limit anything, and its counters are gone.
      if (readOpenDay(request.localDay, epochMs()).isOver) return { usedTokens: request.tokens };
      const total = await limiter.settle(settlement);
      const { usedTokens, groupUsedTokens = 0, groupSpentMicros = 0, isLoaded, unloaded } = total;
      return { usedTokens, groupUsedTokens, groupSpentMicros, totalsUnknown: !isLoaded || unloaded !== undefined };
    },

    async renew({ running }, { caller }) {
      checkEntries('running', running);
      await limiter.renew(running.map((each) => readReservation(each, caller)));
      return {};
    },

    async heartbeat({ group, replicaId, admissions, lastAnsweredAtMs }, { caller }) {
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
      const { answeredAtMs, longestSilenceMs = 0, isNew = false, ...place } = (await limiter.heartbeat(beat)) ?? {};
      return { ...place, longestSilenceMs, answeredAtMs, new: isNew };
    },

    admitStream: (requests, { caller }) => admitStream(limiter, requests, draining, caller),
  };
}

function readCheck(request: AdmitRequest, caller: Caller | undefined): Check {
  const { requestId, costKind, knownTotals } = request;
  const terms = readTerms(request, caller);
  checkText('request_id', requestId, 100);
  checkCostKind(costKind);
  return { ...terms, requestId, costKind, knownTotals: knownTotals.map(readKnown(terms)) };
}

function readReservation(request: ReserveRequest | SettleRequest, caller: Caller | undefined) {
  checkText('request_id', request.requestId, 100);
  return {
    ...readTerms(request, caller),
    requestId: request.requestId,
    localDay: readLocalDay(request.localDay),
    costMicros: readAmount('cost_micros', request.costMicros),
    tokens: readAmount('tokens', request.tokens),
  };
}

function readTerms(request: Pick<AdmitRequest, 'key' | 'limits' | 'group'>, caller: Caller | undefined) {
  const key = readKey(request.key, caller);
  return { key, limits: readLimits('limits', request.limits, key), group: readGroup(request.group, caller) };
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
      decisions.push(...(await Promise.all(some.map((check) => limiter.admit(readCheck(check, caller))))));
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
