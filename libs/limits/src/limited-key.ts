import type { Limits } from '@gateway/proto/limiter/v2/limit_pb.js';
import type { LocalDay } from '@gateway/time';
import { budgetSpan, daySpan, type Span } from './span.ts';

/**
 * A key that is limited. With a group, what belongs to the key is kept with the group's, so that
 * both are decided in one step: a key that changes its group starts with empty windows. The group
 * itself is a key without a group.
 */
export interface LimitedKey {
  readonly key: string;
  readonly groupKey?: string | undefined;
}

/** A counter of a key. */
export interface CounterName extends LimitedKey {
  readonly span: Span;
}

/** A total as it was seen last. */
export interface KnownTotal {
  readonly counter: CounterName;
  readonly total: number;
}

export type KeyLimits = Partial<Omit<Limits, '$typeName' | '$unknown' | 'budget'>> & {
  readonly budget?: Pick<NonNullable<Limits['budget']>, 'amountMicros' | 'period'> | undefined;
};

/** A key with what limits it. */
export interface LimitedTerms {
  readonly key: string;
  readonly limits?: KeyLimits | undefined;
  /**
   * Whether totals must be loaded from a ledger before a decision. Otherwise counters start at zero
   * until a total is loaded.
   */
  readonly hasLedger?: boolean;
  /**
   * The ledger does not answer, so there is no total to wait for: tokens are counted from zero, and
   * a budget whose total is unknown refuses.
   */
  readonly isLedgerAway?: boolean;
}

/** A key, and the group that shares limits with it. */
export interface GroupedTerms extends LimitedTerms {
  readonly group?: LimitedTerms | undefined;
}

/** One of the keys that a request counts for. */
export interface Subject extends LimitedKey, Pick<LimitedTerms, 'limits'> {
  readonly hasLedger: boolean;
  readonly isLedgerAway: boolean;
}

/** The key, then its group, if it has one. */
export function subjectsOf({ group, ...ofKey }: GroupedTerms): readonly Subject[] {
  if (group === undefined) return [subjectOf(ofKey)];
  return [{ ...subjectOf(ofKey), groupKey: group.key }, subjectOf(group)];
}

function subjectOf({ key, limits, hasLedger = false, isLedgerAway = false }: LimitedTerms): Subject {
  return { key, limits, hasLedger, isLedgerAway };
}

/** The same terms, without an answer of the ledger for these keys; by default for both. */
export function withLedgerAway<T extends GroupedTerms>(terms: T, keys?: ReadonlySet<string>): T {
  const isAway = ({ key, isLedgerAway = false }: LimitedTerms) => isLedgerAway || keys === undefined || keys.has(key);
  const { group } = terms;
  return {
    ...terms,
    isLedgerAway: isAway(terms),
    ...(group && { group: { ...group, isLedgerAway: isAway(group) } }),
  };
}

/** Whether only requests per minute and tokens per day of one key count, as for most tokens. */
export function isPlain({ limits, group }: GroupedTerms): boolean {
  return group === undefined && limits?.concurrentRequests === undefined && limits?.budget === undefined;
}

/** The counters by which a key is limited on a day. */
export function countersOf(
  { key, groupKey, limits }: Pick<Subject, 'key' | 'groupKey' | 'limits'>,
  day: LocalDay,
): readonly CounterName[] {
  const { tokensPerDay, budget } = limits ?? {};
  return [
    ...(tokensPerDay === undefined ? [] : [{ key, groupKey, span: daySpan(day) }]),
    ...(budget === undefined ? [] : [{ key, groupKey, span: budgetSpan(budget.period, day) }]),
  ];
}

/** The counters that a settled request changes. Without limits, the key's tokens are counted. */
export function settledCounters(terms: GroupedTerms & { readonly localDay: LocalDay }): readonly CounterName[] {
  const { key, group, limits, localDay } = terms;
  const counted = subjectsOf(terms).flatMap((subject) => countersOf(subject, localDay));
  return limits === undefined ? [{ key, groupKey: group?.key, span: daySpan(localDay) }, ...counted] : counted;
}

/** A name that no other key has, in any group. */
export function nameOf({ key, groupKey }: LimitedKey): string {
  return groupKey === undefined ? key : `\0${groupKey.length}:${groupKey}${key}`;
}

/** A name that no other counter has. The name of a span contains no slash. */
export function counterName(counter: CounterName): string {
  return `${counter.span.name}/${nameOf(counter)}`;
}

/** Requests end for their key and its group together. */
export function endedName({ key, groupKey }: LimitedKey, requestId: string): string {
  return `${nameOf({ key: groupKey ?? key })}/${requestId}`;
}

/** The key with this name. */
export function keyNamed(name: string): LimitedKey {
  const [prefix = '', length] = /^\0(\d+):/.exec(name) ?? [];
  if (length === undefined) return { key: name };
  const keyAt = prefix.length + Number(length);
  return { key: name.slice(keyAt), groupKey: name.slice(prefix.length, keyAt) };
}
