import type { Limits } from '@gateway/proto/limiter/v2/limit_pb.js';
import type { AdmitRequest } from '@gateway/proto/limiter/v2/limiter_service_pb.js';
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

/**
 * A request to check against limits. Without a request id the limits are only read: the check
 * refuses nothing and changes nothing.
 */
export type Check = Pick<AdmitRequest, 'requestId' | 'costKind'> &
  GroupedTerms & {
    /** What the caller saw last: if a counter has lost its total, it continues from there. */
    readonly knownTotals?: readonly KnownTotal[];
  };

/** A running request, with what it reserves: 0 for nothing. */
export interface Reservation extends GroupedTerms {
  readonly requestId: string;
  /** The day on which the request was admitted. */
  readonly localDay: LocalDay;
  /** Of budgets. */
  readonly costMicros: number;
  /** Of strict limits of tokens per day. */
  readonly tokens?: number;
}

/** One of the keys that a request counts for. */
export interface Subject extends LimitedKey, Pick<LimitedTerms, 'limits'> {
  readonly hasLedger: boolean;
  readonly isLedgerAway: boolean;
}

/** The key, then its group, if it has one. */
export function subjectsOf(terms: GroupedTerms): readonly Subject[] {
  const { group } = terms;
  const ofKey = subjectOf(terms, group?.key);
  return group === undefined ? [ofKey] : [ofKey, subjectOf(group)];
}

function subjectOf(terms: LimitedTerms, groupKey?: string): Subject {
  const { key, limits, hasLedger = false, isLedgerAway = false } = terms;
  return { key, groupKey, limits, hasLedger, isLedgerAway };
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
