import { hash } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import { matchesAnyPattern } from '@gateway/presentation/model-pattern';
import {
  AccountProblem,
  type Attempt as AttemptMessage,
  AttemptReportSchema,
  AttemptResult,
  type Lease,
  type AttemptReport as ReportMessage,
  type QuotaWindow as WindowMessage,
} from '@gateway/proto/pool/v1/account_pb.js';
import { randomId } from '@gateway/time';

/** Results of attempts after which another account might serve the request. */
export const failures = [
  AttemptResult.RATE_LIMITED,
  AttemptResult.UNAUTHORIZED,
  AttemptResult.OVERLOADED,
  AttemptResult.SERVER_ERROR,
  AttemptResult.NETWORK_ERROR,
  AttemptResult.TIMEOUT,
  AttemptResult.MODEL_UNAVAILABLE,
  AttemptResult.FEATURE_UNAVAILABLE,
  AttemptResult.REFUSED,
] as const;

export type FailureResult = (typeof failures)[number];

/** Problems that waiting does not solve. */
export const problems = [AccountProblem.CREDENTIAL_REVOKED, AccountProblem.ACCOUNT_DISABLED] as const;

/** A quota by this broker's clock. */
export interface QuotaWindow extends Pick<WindowMessage, 'name' | 'models' | 'usedFraction' | 'lengthSeconds'> {
  readonly resetsAtMs?: number | undefined;
}

/** A report by this broker's clock: it counts the waits that a report names from its arrival. */
export interface AttemptReport extends Omit<ReportMessage, '$typeName' | '$unknown' | 'retryAtMs' | 'windows'> {
  readonly retryAtMs?: number | undefined;
  readonly windows: readonly QuotaWindow[];
}

export interface Attempt extends Pick<Lease, 'leaseId' | 'accountId' | 'pool' | 'model'> {
  readonly report: AttemptReport;
}

/** Undefined for an attempt without a lease, because it belongs to no account. */
export function toAttempt({ lease, report }: AttemptMessage, nowMs: number): Attempt | undefined {
  if (lease === undefined || lease.leaseId === '') return undefined;
  const { leaseId, accountId, pool, model } = lease;
  return { leaseId, accountId, pool, model, report: report === undefined ? cancelled : toReport(report, nowMs) };
}

/** The result of an attempt that reveals nothing about its account. */
export const cancelled: AttemptReport = create(AttemptReportSchema, { result: AttemptResult.CANCELLED });

function toReport(report: ReportMessage, nowMs: number): AttemptReport {
  const { result, retryAfterMs, windows, problem, feature, cause } = report;
  return {
    ...report,
    result: toResult(result),
    retryAtMs: laterMs(nowMs, retryAfterMs),
    windows: toWindows(windows, nowMs),
    problem: problems.find((known) => known === problem) ?? AccountProblem.UNSPECIFIED,
    feature: feature.slice(0, longestFeature),
    cause: cause.slice(0, longestCause),
  };
}

/** As the contract says. */
export const longestCause = 200;

/** Longer than the name of any beta feature. */
const longestFeature = 100;

/** A result that only a newer caller knows reveals nothing about the account. */
function toResult(result: AttemptResult): AttemptResult {
  // As after a rejected request: the account works, and another one would do no better.
  if (result === AttemptResult.ANSWER_TOO_LARGE) return AttemptResult.REJECTED;
  const isKnown = result === AttemptResult.SUCCEEDED || result === AttemptResult.REJECTED || isFailure(result);
  return isKnown ? result : AttemptResult.CANCELLED;
}

/**
 * The quotas that an answer reported. A quota without a name or with an invalid amount is ignored.
 */
export function toWindows(messages: readonly WindowMessage[], nowMs: number): readonly QuotaWindow[] {
  return messages
    .filter(({ name, usedFraction }) => name !== '' && Number.isFinite(usedFraction) && usedFraction >= 0)
    .slice(0, maxWindows)
    .map(({ name, models, usedFraction, resetsAfterMs, lengthSeconds }) => {
      return { name, models, usedFraction, lengthSeconds, resetsAtMs: laterMs(nowMs, resetsAfterMs) };
    });
}

/** More than any provider reports in one answer. */
const maxWindows = 16;

function laterMs(nowMs: number, afterMs: number | undefined): number | undefined {
  return afterMs === undefined ? undefined : nowMs + afterMs;
}

export function isFailure(result: AttemptResult): result is FailureResult {
  return failures.some((failure) => failure === result);
}

/**
 * True for a failure that may have a cause other than the account. Trying other accounts adds load
 * at the provider, so a budget limits these retries.
 */
export function isError(result: AttemptResult): boolean {
  const isOfAccount =
    result === AttemptResult.RATE_LIMITED || result === AttemptResult.UNAUTHORIZED || result === AttemptResult.REFUSED;
  return isFailure(result) && !isOfAccount && !isLack(result);
}

/**
 * True if the cause may be, or is, what the request chose, so that every account may answer alike.
 */
export function mayConcernRequest({ report }: Pick<Attempt, 'report'>): boolean {
  return report.result === AttemptResult.REFUSED || concernsRequest(report);
}

/** True if the cause is what the request chose, such as a service tier. */
export function concernsRequest({ result, feature }: Pick<AttemptReport, 'result' | 'feature'>): boolean {
  return result === AttemptResult.FEATURE_UNAVAILABLE && feature === '';
}

/** True when the account lacks what the request asks for: the model or a feature. */
export function isLack(result: AttemptResult): result is Lack {
  return result === AttemptResult.MODEL_UNAVAILABLE || result === AttemptResult.FEATURE_UNAVAILABLE;
}

export type Lack = AttemptResult.MODEL_UNAVAILABLE | AttemptResult.FEATURE_UNAVAILABLE;

/**
 * True when the provider, or the path to it, fails for every account alike: only the pool's health
 * may count it.
 */
export function isFaultOfPool(result: AttemptResult): result is AttemptResult.OVERLOADED | AttemptResult.NETWORK_ERROR {
  return result === AttemptResult.OVERLOADED || result === AttemptResult.NETWORK_ERROR;
}

/**
 * Whether something that applies to `models` (an id or pattern; empty: the whole account) applies
 * to `model` (empty: the whole account).
 */
export function holdsForModel(models: string, model: string): boolean {
  return models === '' || (model !== '' && matchesAnyPattern(model, [models]));
}

export function isSpent({ usedFraction }: Pick<QuotaWindow, 'usedFraction'>): boolean {
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
