import type { SettledTotals, Settlement } from './limit-store.ts';
import { type CounterName, countersOf, type Subject, subjectsOf } from './limited-key.ts';
import { daySpan } from './span.ts';

/** Which total of an answer a counter's value is. */
type TotalName = 'usedTokens' | 'groupUsedTokens' | 'spentMicros' | 'groupSpentMicros';

/** What a settlement adds to one counter. */
export interface Charge {
  readonly counter: CounterName;
  readonly amount: number;
  readonly hasLedger: boolean;
  readonly total: TotalName;
}

/** What a settlement adds to the counters of its key and of its group. */
export function chargesOf(settlement: Settlement): readonly Charge[] {
  const { localDay, tokens, costMicros = 0 } = settlement;
  return subjectsOf(settlement).flatMap((subject, index) => {
    const isGroup = index === 1;
    return chargedCountersOf(subject, isGroup, localDay).map((counter): Charge => {
      const ofTokens = counter.span.unit === 'tokens';
      const total = ofTokens
        ? isGroup
          ? 'groupUsedTokens'
          : 'usedTokens'
        : isGroup
          ? 'groupSpentMicros'
          : 'spentMicros';
      return { counter, amount: ofTokens ? tokens : costMicros, hasLedger: subject.hasLedger, total };
    });
  });
}

export interface ChargedCounter extends Pick<Charge, 'counter' | 'total'> {
  /** Its value after the settlement. */
  readonly amount: number;
  readonly isLoaded: boolean;
}

export function settledTotals(charged: readonly ChargedCounter[]): SettledTotals {
  const {
    usedTokens = 0,
    groupUsedTokens,
    groupSpentMicros,
  } = Object.fromEntries(charged.map(({ total, amount }) => [total, amount]));
  const isMissing = ({ total, isLoaded }: ChargedCounter) => total !== 'usedTokens' && !isLoaded;
  const unloaded = charged.filter(isMissing).map(({ counter }) => counter);
  return {
    usedTokens,
    isLoaded: charged.every(({ total, isLoaded }) => total !== 'usedTokens' || isLoaded),
    ...(groupUsedTokens !== undefined && { groupUsedTokens }),
    ...(groupSpentMicros !== undefined && { groupSpentMicros }),
    ...(unloaded.length > 0 && { unloaded }),
  };
}

/** Without its limits, a key's tokens are counted in any case. */
function chargedCountersOf(subject: Subject, isGroup: boolean, localDay: string): readonly CounterName[] {
  if (subject.limits !== undefined || isGroup) return countersOf(subject, localDay);
  const { key, groupKey } = subject;
  return [{ key, groupKey, span: daySpan(localDay) }];
}
