import { GatewayError } from '@gateway/errors';
import {
  budgetSpan,
  dayForgottenAtMs,
  daySpan,
  type GroupedTerms,
  type KeyLimits,
  type KnownTotal,
  type LimitedTerms,
} from '@gateway/limits';
import { BudgetPeriod, CostKind } from '@gateway/proto/limiter/v2/limit_pb.js';
import type { KnownTotal as KnownTotalMessage, LimitedGroup } from '@gateway/proto/limiter/v2/limiter_service_pb.js';
import type { Caller } from '@gateway/rpc';
import { addLocalDays, isLocalDay, type LocalDay, localDayOf } from '@gateway/time';
import { countedKey } from './caller-keys.ts';

/** What callers may ask. Each function throws GatewayError `invalid_request`. */

/** The key under which a caller's key is counted. */
export function readKey(key: string, caller: Caller | undefined): string {
  checkText('key', key, 200);
  return countedKey(key, caller);
}

/** The group's key and limits, under the same rules. */
export function readGroup(group: LimitedGroup | undefined, caller: Caller | undefined): LimitedTerms | undefined {
  if (group === undefined) return undefined;
  checkText('group.key', group.key, 200);
  return { key: countedKey(group.key, caller), limits: readLimits('group.limits', group.limits) };
}

export function readLimits(name: string, limits: KeyLimits | undefined, key = ''): KeyLimits | undefined {
  const { tokensPerDay, budget } = limits ?? {};
  if (tokensPerDay !== undefined) readAmount(`${name}.tokens_per_day`, tokensPerDay);
  if (budget === undefined) return limits;
  readAmount(`${name}.budget.amount_micros`, budget.amountMicros);
  readPeriod(`${name}.budget.period`, budget.period);
  // The ledger has no money of a single token.
  if (key.startsWith('token:')) throw new GatewayError('invalid_request', 'A token has no budget. Groups have.');
  return limits;
}

export function readPeriod(name: string, period: BudgetPeriod): BudgetPeriod {
  if (period in BudgetPeriod && period !== BudgetPeriod.UNSPECIFIED) return period;
  throw new GatewayError('invalid_request', `${name} must be a day, a week or a month.`);
}

/** A total that the caller saw last, of the key or of its group. */
export function readKnown({ key, group }: Pick<GroupedTerms, 'key' | 'group'>) {
  return ({ ofGroup, period, firstDay, total }: KnownTotalMessage): KnownTotal => {
    const day = readLocalDay(firstDay);
    const span = period === BudgetPeriod.UNSPECIFIED ? daySpan(day) : budgetSpan(readPeriod('period', period), day);
    const subject = ofGroup ? { key: group?.key ?? '' } : { key, groupKey: group?.key };
    return { counter: { ...subject, span }, total: readAmount('total', total) };
  };
}

export function checkText(name: string, text: string, maxBytes: number): void {
  if (text !== '' && Buffer.byteLength(text) <= maxBytes) return;
  throw new GatewayError('invalid_request', `${name} must have 1 to ${maxBytes} bytes.`);
}

export function checkEntries(name: string, entries: readonly unknown[]): void {
  if (entries.length <= 1_000) return;
  throw new GatewayError('invalid_request', `${name} must have at most 1000 entries.`);
}

export function checkCostKind(costKind: CostKind): void {
  if (costKind in CostKind) return;
  throw new GatewayError('invalid_request', `cost_kind ${costKind} is unknown.`);
}

/** Reads a number of tokens, or of millionths of a currency. */
export function readAmount(name: string, amount: number): number {
  if (amount >= 0 && Number.isSafeInteger(amount)) return amount;
  throw new GatewayError('invalid_request', `${name} must be a whole number from 0 to ${Number.MAX_SAFE_INTEGER}.`);
}

export function readLocalDay(text: string): LocalDay {
  if (isLocalDay(text)) return text;
  throw new GatewayError('invalid_request', 'local_day must be a day such as 2026-11-20.');
}

/** A day whose tokens may still be counted. */
export function readOpenDay(text: string, nowMs: number): { readonly localDay: LocalDay; readonly isOver: boolean } {
  const localDay = readLocalDay(text);
  const state = dayState(localDay, nowMs);
  if (state === 'future') throw new GatewayError('invalid_request', 'local_day is in the future.');
  return { localDay, isOver: state === 'over' };
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
