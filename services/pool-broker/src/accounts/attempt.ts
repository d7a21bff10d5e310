import { hash, randomUUID } from 'node:crypto';
import { matchesAnyPattern } from '../catalog/model-pattern.ts';

/** How an attempt at a provider ended. */
export type AttemptResult = 'succeeded' | FailureResult | 'rejected' | 'cancelled';

/** The results of attempts that another account might have served. */
export type FailureResult = (typeof failures)[number];

export const failures = [
  'rate_limited',
  'unauthorized',
  'overloaded',
  'server_error',
  'network_error',
  'timeout',
] as const;

/** What does not pass by waiting: the credential was revoked, or the account was disabled. */
export type ProblemKind = 'credential_revoked' | 'account_disabled';

export interface AttemptOutcome {
  readonly result: AttemptResult;
  /** Epoch milliseconds at which the provider said the account is free again. */
  readonly retryAtMs: number | undefined;
  /** True when the limit holds for the attempt's model only. */
  readonly modelScoped: boolean;
  /** The quotas that the answer described. */
  readonly windows: readonly QuotaWindow[];
  /** The provider had begun to answer with success before it failed. */
  readonly answerBegan?: boolean;
  /** Why the account, being refused, is out of service. Undefined: it may not be. */
  readonly problem?: ProblemKind | undefined;
}

/** One finished attempt of a request. */
export interface Attempt {
  readonly leaseId: string;
  readonly accountId: string;
  readonly pool: string;
  /** The provider's model id. */
  readonly model: string;
  readonly outcome: AttemptOutcome;
}

export function isFailure(result: AttemptResult): result is FailureResult {
  return result !== 'succeeded' && result !== 'rejected' && result !== 'cancelled';
}

/** True for a failure that says nothing certain of the account: trying others costs the provider load, and is budgeted. */
export function isError(result: AttemptResult): boolean {
  return isFailure(result) && result !== 'rate_limited' && result !== 'unauthorized';
}

/** True when the provider, or the way there, fails every account alike: it counts for the pool, if at all. */
export function isFaultOfPool(result: AttemptResult): result is 'overloaded' | 'network_error' {
  return result === 'overloaded' || result === 'network_error';
}

/** A quota of an account, as its provider describes it. */
export interface QuotaWindow {
  /** As in "5h", "7d_opus", "requests". An account has at most one of a name for the same models. */
  readonly name: string;
  /** See `holdsForModel`. */
  readonly models: string;
  /** 0 to 1; more when the provider let requests pass beyond it. */
  readonly usedFraction: number;
  /** When it begins anew; undefined when the provider did not say. */
  readonly resetsAtMs?: number | undefined;
  /** How long it is as a whole; undefined when not known. */
  readonly lengthMs?: number | undefined;
}

/** Whether what concerns `models` (an id or pattern; empty: the whole account) concerns `model` (empty: the whole account). */
export function holdsForModel(models: string, model: string): boolean {
  return models === '' || (model !== '' && matchesAnyPattern(model, [models]));
}

export function isSpent({ usedFraction }: QuotaWindow): boolean {
  return usedFraction >= 1;
}

/** An id that no other lease has. It says whose share the lease counts against; `caller` empty: no share is counted. */
export function newLeaseId(caller: string): string {
  return caller === '' ? randomUUID() : `${randomUUID()}.${caller}`;
}

/** The caller that a lease id names; empty when it names none. */
export function callerOfLease(leaseId: string): string {
  return /^[^.]*\.(?<caller>[\w-]{22})$/.exec(leaseId)?.groups?.caller ?? '';
}

/** A caller's key as lease ids and the store keep it, however long it is. Empty stays empty. */
export function toCallerId(caller: string): string {
  return caller === '' ? '' : hash('sha256', caller, 'base64url').slice(0, 22);
}
