import { GatewayError } from '@gateway/errors';
import { dayForgottenAtMs } from '@gateway/limits';
import { CostKind } from '@gateway/proto/limiter/v1/limit_pb.js';
import { addLocalDays, isLocalDay, type LocalDay, localDayOf } from '@gateway/time';

/** @throws GatewayError `invalid_request`, as every function of these does. */
export function checkText(name: string, text: string, maxBytes: number): void {
  if (text !== '' && Buffer.byteLength(text) <= maxBytes) return;
  throw new GatewayError('invalid_request', `${name} must have 1 to ${maxBytes} bytes.`);
}

export function checkCostKind(costKind: CostKind): void {
  if (costKind in CostKind) return;
  throw new GatewayError('invalid_request', `cost_kind ${costKind} is not known.`);
}

/** A number of tokens. */
export function readAmount(name: string, amount: bigint): number {
  // A number that is not exact is not safe either.
  const number = Number(amount);
  if (number >= 0 && Number.isSafeInteger(number)) return number;
  throw new GatewayError('invalid_request', `${name} must be from 0 to ${Number.MAX_SAFE_INTEGER}.`);
}

export function readLocalDay(text: string): LocalDay {
  if (isLocalDay(text)) return text;
  throw new GatewayError('invalid_request', 'local_day must be a day like 2026-11-20.');
}

/** Whether tokens of that day still matter (`open`), can't limit anything any more (`over`), or can't exist yet. */
export function dayState(day: LocalDay, nowMs: number): 'open' | 'over' | 'future' {
  // A caller's clock may run ahead of ours across midnight: tomorrow is taken.
  if (day > addLocalDays(localDayOf(nowMs), 1)) return 'future';
  return nowMs < dayForgottenAtMs(day) ? 'open' : 'over';
}
