import type { AdmitRequest } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import { localDayOf } from '@gateway/time';
import type { Limiter } from '../limiter.ts';
import type { Check } from '../store/limit-store.ts';
import type { Decision } from '../windows/decide.ts';
import { buildDecision, readCheck } from './messages.ts';

/** Decides both limits of one request. */
export async function admit(limiter: Limiter, request: AdmitRequest) {
  return buildDecision(await decide(limiter, readCheck(request)));
}

/** Asks the store, which may need the day's total of the ledger first. */
export async function decide(limiter: Limiter, check: Omit<Check, 'hasLedger'>): Promise<Decision> {
  const { store, dayTotals, clock, metrics } = limiter;
  const { key, limits } = check;
  if (limits.requestsPerMinute === undefined && limits.tokensPerDay === undefined) {
    const localDay = localDayOf(clock.nowMs());
    return { kind: 'admitted', status: { requests: undefined, tokens: undefined, localDay, degraded: false } };
  }
  const decision = await dayTotals.ask(key, (hasLedger) => store.admit({ ...check, hasLedger }));
  const outcome = decision.kind === 'admitted' ? 'admitted' : decision.refusal.limit;
  if (check.requestId !== undefined) metrics.decisions.inc({ outcome });
  if (limits.tokensPerDay !== undefined) dayTotals.noteUse(key, decision.status.localDay);
  return decision;
}
