import { hash } from 'node:crypto';
import { matchesAnyPattern } from '@gateway/presentation/model-pattern';
import type {
  Attempt as AttemptMessage,
  Lease,
  AttemptReport as ReportMessage,
  QuotaWindow as WindowMessage,
} from '@gateway/proto/pool/v1/account_pb.js';
import { AccountProblem, AttemptResult as Result } from '@gateway/proto/pool/v1/account_pb.js';
import { randomId } from '@gateway/time';

/** The result of an attempt at a provider. */
export type AttemptResult = 'succeeded' | FailureResult | 'rejected' | 'cancelled';

/** Results of attempts after which another account might serve the request. */
export type FailureResult = (typeof failures)[number];

export const failures = [
  'rate_limited',
  'unauthorized',
  'overloaded',
  'server_error',
  'network_error',
  'timeout',
  'model_unavailable',
  'feature_unavailable',
  'refused',
] as const;

/**
 * A problem that waiting does not solve: the credential was revoked, or the account was disabled.
 */
export type ProblemKind = 'credential_revoked' | 'account_disabled';

/**
 * A quota of an account, as its provider describes it. An account has at most one quota with the
 * same name and models.
 */
export interface QuotaWindow {
  readonly name: string;
  /** An id or a pattern. Empty: the whole account. */
  readonly models: string;
  readonly usedFraction: number;
  readonly resetsAtMs?: number | undefined;
  readonly lengthMs?: number | undefined;
}

/** See the contract's `AttemptReport`. */
export interface AttemptReport {
  readonly result: AttemptResult;
  readonly retryAtMs: number | undefined;
  readonly modelScoped: boolean;
  readonly windows: readonly QuotaWindow[];
  readonly answerBegan?: boolean;
  /** With `succeeded`: reasoning that another organization created was withheld from the model. */
  readonly affinityMissed?: boolean;
  readonly problem?: ProblemKind | undefined;
  /**
   * With `feature_unavailable`: the feature, as a pattern of the names that requests use for it.
   */
  readonly feature?: string | undefined;
  /** The provider's HTTP status. Absent: it did not answer. */
  readonly upstreamStatus?: number | undefined;
  /** Why it did not answer, for operators. */
  readonly cause?: string | undefined;
}

export interface Attempt extends Pick<Lease, 'leaseId' | 'accountId' | 'pool' | 'model'> {
  readonly report: AttemptReport;
}

/**
 * Undefined for an attempt without a lease, because it belongs to no account. Waits that the report
 * names begin now: only this clock counts them.
 */
export function toAttempt({ lease, report }: AttemptMessage, nowMs: number): Attempt | undefined {
  if (lease === undefined || lease.leaseId === '') return undefined;
  const { leaseId, accountId, pool, model } = lease;
  return { leaseId, accountId, pool, model, report: report === undefined ? cancelled : toReport(report, nowMs) };
}

/** The result of an attempt that reveals nothing about its account. */
export const cancelled: AttemptReport = {
  result: 'cancelled',
  retryAtMs: undefined,
  modelScoped: false,
  windows: [],
};

function toReport(message: ReportMessage, nowMs: number): AttemptReport {
  const { result, retryAfterMs, modelScoped, windows, answerBegan, problem, feature, upstreamStatus, cause } = message;
  return {
    // A result that only a newer caller knows reveals nothing about the account.
    result: results.get(result) ?? 'cancelled',
    retryAtMs: retryAfterMs === undefined ? undefined : nowMs + retryAfterMs,
    modelScoped,
    windows: toWindows(windows, nowMs),
    answerBegan,
    affinityMissed: message.affinityMissed,
    problem: problems.get(problem),
    feature: feature === '' ? undefined : feature.slice(0, longestFeature),
    upstreamStatus: upstreamStatus || undefined,
    cause: cause === '' ? undefined : cause.slice(0, longestCause),
  };
}

/** As the contract says. */
export const longestCause = 200;

/** Longer than the name of any beta feature. */
const longestFeature = 100;

const results = new Map<Result, AttemptResult>([
  ...failures.map((failure) => [Result[failure.toUpperCase() as Uppercase<FailureResult>], failure] as const),
  [Result.SUCCEEDED, 'succeeded'],
  [Result.REJECTED, 'rejected'],
  // As after a rejected request: the account works, and another one would do no better.
  [Result.ANSWER_TOO_LARGE, 'rejected'],
]);

const problems = new Map<AccountProblem, ProblemKind>([
  [AccountProblem.CREDENTIAL_REVOKED, 'credential_revoked'],
  [AccountProblem.ACCOUNT_DISABLED, 'account_disabled'],
]);

/**
 * The quotas that an answer reported. A quota without a name or with an invalid amount is ignored.
 */
export function toWindows(messages: readonly WindowMessage[], nowMs: number): readonly QuotaWindow[] {
  return messages
    .filter(({ name, usedFraction }) => name !== '' && Number.isFinite(usedFraction) && usedFraction >= 0)
    .slice(0, maxWindows)
    .map(({ name, models, usedFraction, resetsAfterMs, lengthSeconds }) => ({
      ...{ name, models, usedFraction },
      resetsAtMs: resetsAfterMs === undefined ? undefined : nowMs + resetsAfterMs,
      lengthMs: lengthSeconds === 0 ? undefined : lengthSeconds * 1_000,
    }));
}

/** More than any provider reports in one answer. */
const maxWindows = 16;

export function isFailure(result: AttemptResult): result is FailureResult {
  return result !== 'succeeded' && result !== 'rejected' && result !== 'cancelled';
}

/**
 * True for a failure that may have a cause other than the account. Trying other accounts adds load
 * at the provider, so a budget limits these retries.
 */
export function isError(result: AttemptResult): boolean {
  const isOfAccount = result === 'rate_limited' || result === 'unauthorized' || result === 'refused';
  return isFailure(result) && !isOfAccount && !isLack(result);
}

/**
 * True if the cause may be, or is, what the request chose, so that every account may answer alike.
 */
export function mayConcernRequest({ report }: Pick<Attempt, 'report'>): boolean {
  return report.result === 'refused' || concernsRequest(report);
}

/** True if the cause is what the request chose, such as a service tier. */
export function concernsRequest({ result, feature }: Pick<AttemptReport, 'result' | 'feature'>): boolean {
  return result === 'feature_unavailable' && feature === undefined;
}

/** True when the account lacks what the request asks for: the model or a feature. */
export function isLack(result: AttemptResult): result is Lack {
  return result === 'model_unavailable' || result === 'feature_unavailable';
}

export type Lack = 'model_unavailable' | 'feature_unavailable';

/**
 * True when the provider, or the path to it, fails for every account alike: only the pool's health
 * may count it.
 */
export function isFaultOfPool(result: AttemptResult): result is 'overloaded' | 'network_error' {
  return result === 'overloaded' || result === 'network_error';
}

/**
 * Whether something that applies to `models` (an id or pattern; empty: the whole account) applies
 * to `model` (empty: the whole account).
 */
export function holdsForModel(models: string, model: string): boolean {
  return models === '' || (model !== '' && matchesAnyPattern(model, [models]));
}

export function isSpent({ usedFraction }: QuotaWindow): boolean {
  return usedFraction >= 1;
}

/** The properties of a request in which accounts can differ. */
export interface Wanted {
  /**
   * The provider's model id. Empty means the account as a whole: limits of single models are
   * ignored.
   */
  readonly model: string;
  /** The names of requested features besides the model. Absent: none. */
  readonly features?: readonly string[];
}

/**
 * Creates a unique lease id. It contains the caller whose share the lease counts against; with an
 * empty `caller` no share is counted.
 */
export function newLeaseId(caller: string): string {
  return caller === '' ? randomId() : `${randomId()}.${caller}`;
}

/** The caller in a lease id; empty when it has none. */
export function callerOfLease(leaseId: string): string {
  return /^[^.]*\.(?<caller>[\w-]{22})$/.exec(leaseId)?.groups?.caller ?? '';
}

/**
 * Shortens a caller's key to the fixed length used in lease ids and in the store. Empty stays
 * empty.
 */
export function toCallerId(caller: string): string {
  return caller === '' ? '' : hash('sha256', caller, 'base64url').slice(0, 22);
}
