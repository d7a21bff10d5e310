import type { LimitStatus } from '@gateway/proto/limiter/v2/limit_pb.js';
import type { Decision } from './decide.ts';
import type { OwnAdmission, SettledTotals, Settlement } from './limit-store.ts';
import { type Check, counterName, type KnownTotal, type Subject, subjectsOf } from './limited-key.ts';
import { budgetSpan, daySpan } from './span.ts';

/** The totals that an answer shows. */
export function totalsIn(check: Check, decision: Decision): readonly KnownTotal[] {
  return answeredSubjects(check, decision).flatMap(({ subject: { key, groupKey, limits }, status }) => {
    const { tokens, budget, localDay } = status;
    const ofDay = tokens && { span: daySpan(localDay), total: tokens.limit - tokens.remaining };
    const ofBudget = budget &&
      limits?.budget && { span: budgetSpan(limits.budget.period, localDay), total: budget.spentMicros };
    const known = [ofDay, ofBudget].filter((each) => each !== undefined);
    return known.map(({ span, total }) => ({ counter: { key, groupKey, span }, total }));
  });
}

/** The totals after a settlement that include the ledger's. */
export function totalsAfter(settlement: Settlement, totals: SettledTotals): readonly KnownTotal[] {
  const { key, localDay, group } = settlement;
  const { usedTokens, isLoaded, groupUsedTokens, groupSpentMicros } = totals;
  const budget = group?.limits?.budget;
  const isCounted = settlement.limits === undefined || settlement.limits.tokensPerDay !== undefined;
  const ofGroup = { key: group?.key ?? '' };
  const unloaded = new Set(totals.unloaded?.map(counterName));
  const known: readonly KnownTotal[] = [
    ...(isLoaded && isCounted
      ? [{ counter: { key, groupKey: group?.key, span: daySpan(localDay) }, total: usedTokens }]
      : []),
    ...(groupUsedTokens === undefined || group?.limits?.tokensPerDay === undefined
      ? []
      : [{ counter: { ...ofGroup, span: daySpan(localDay) }, total: groupUsedTokens }]),
    ...(groupSpentMicros === undefined || budget === undefined
      ? []
      : [{ counter: { ...ofGroup, span: budgetSpan(budget.period, localDay) }, total: groupSpentMicros }]),
  ];
  return known.filter(({ counter }) => !unloaded.has(counterName(counter)));
}

/** The slots that an admitted request took. */
export function slotsIn(check: Check, decision: Decision): readonly OwnAdmission[] {
  const taken = answeredSubjects(check, decision).filter(({ status }) => status.requests !== undefined);
  const { requestId } = check;
  return taken.map(({ subject: { key, groupKey } }) => ({ key, groupKey, requestId, ageMs: 0 }));
}

interface AnsweredSubject {
  readonly subject: Subject;
  readonly status: LimitStatus;
}

function answeredSubjects(check: Check, { status, groupStatus }: Decision): readonly AnsweredSubject[] {
  const [ofKey, ofGroup] = subjectsOf(check);
  return [
    ...(ofKey && status ? [{ subject: ofKey, status }] : []),
    ...(ofGroup && groupStatus ? [{ subject: ofGroup, status: groupStatus }] : []),
  ];
}
