import { create } from '@bufbuild/protobuf';
import { fromErrorDetail, GatewayError, notNowRetryMs } from '@gateway/errors';
import {
  type ExecuteResponse,
  type ExecuteResult,
  ExecuteResultSchema,
} from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import {
  type Attempt,
  type AttemptReport,
  AttemptReportSchema,
  AttemptResult,
  AttemptSchema,
  type Lease,
  type ProviderFormat,
} from '@gateway/proto/pool/v1/account_pb.js';
import { type AcquireResponse, Lack } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { CancelReason, NoAccountCause } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { RpcError } from '@gateway/rpc';
import { inSpan } from '@gateway/telemetry';
import { labelSetsOf, mayUseModel } from '@gateway/tokens/access-rules';
import { callerKey } from '../authentication/authenticate.ts';
import type { Call } from '../call.ts';
import type { RequestEvents } from '../events.ts';
import { attemptFailure } from '../usage/request-log.ts';
import { AnswerFrames } from './answer-frames.ts';
import {
  AnswerTooLongError,
  concernsRequest,
  mayBeShown,
  modelNotFound,
  modelUnpriced,
  noneUsable,
  notOffered,
  outOfReach,
  poolExhausted,
} from './attempt-errors.ts';
import type { Leases } from './leases.ts';

export interface AttemptPlan {
  readonly call: Call;
  /** A class id or a provider's model id. */
  readonly model: string;
  /**
   * Formats that the endpoint supports. If there are several, a class may continue with a candidate
   * of another format.
   */
  readonly formats: readonly ProviderFormat[];
  readonly affinityKey: string;
  /** The names of requested features that some accounts may lack. Absent: none. */
  readonly features?: readonly string[];
  /**
   * What is wrong with the request for every adapter: this error precedes any other failure.
   * Absent: only adapters can tell.
   */
  readonly faultOf?: (() => GatewayError | undefined) | undefined;
  /** The local day on which a model needs a price to answer. Absent or empty: it needs none. */
  readonly pricedOnDay?: string;
  /** Sends the request with a lease. */
  readonly execute: (lease: Lease, signal: AbortSignal) => AsyncIterable<ExecuteResponse>;
}

export type AttemptsResult = Answering | AttemptsFailed;

/**
 * An answer that has started. Its reader must close the frames in every case, which cancels the
 * provider's request.
 */
export interface Answering {
  readonly kind: 'answering';
  readonly lease: Lease;
  /** The frame with the head. */
  readonly first: ExecuteResponse;
  /** The frames after it. */
  readonly frames: AnswerFrames;
}

export interface AttemptsFailed {
  readonly kind: 'failed';
  /** `model_not_found`, `pool_exhausted`, `providers_unavailable`, or the provider's refusal. */
  readonly error: GatewayError;
  /** The result of the last attempt whose provider error clients may see, if there is one. */
  readonly last: ExecuteResult | undefined;
}

export interface AttemptPeers {
  readonly leases: Pick<Leases, 'acquire' | 'startRenewing' | 'report'>;
  readonly events: Pick<RequestEvents, 'failedOver'>;
}

/** The maximum number of attempts of a request, whatever the broker offers. */
const attemptCeiling = 50;

/**
 * The only loop over attempts: it asks the broker for an account, tries it, and continues until an
 * answer has started or the broker has no account left. The broker decides their order and number;
 * after the first content there is no other attempt. Throws errors that an adapter finds in the
 * request, if no other candidate may be tried.
 */
export async function runAttempts(plan: AttemptPlan, { leases, events }: AttemptPeers): Promise<AttemptsResult> {
  const { call, model, affinityKey, features = [], pricedOnDay = '', faultOf, execute } = plan;
  const { id: requestId, token, signal } = call;
  // Opaque: the broker divides a scarce pool among callers.
  const caller = callerKey(token.tokenId);
  if (!mayUseModel(token, model)) {
    call.onAsking();
    call.onNoAccount({ cause: NoAccountCause.MODEL_NOT_ALLOWED });
    return { kind: 'failed', error: faultOf?.() ?? modelNotFound(model, plan.formats), last: undefined };
  }
  const accountLabels = labelSetsOf(token);
  const attempts: Attempt[] = [];
  /** The formats that may still be tried. */
  let { formats } = plan;
  let last: ExecuteResult | undefined;
  /**
   * The result of the last attempt whose account lacks what the request asks for. It is the
   * client's answer only if all accounts lack it.
   */
  let lacking: ExecuteResult | undefined;
  /** Why the first format that was tried does not support the request; undefined when all do. */
  let refusal: GatewayError | undefined;
  /** The last attempt's failure in one word. */
  let lastFailure: string | undefined;

  while (attempts.length < attemptCeiling && formats.length > 0) {
    const lease = await acquire();
    if (lease instanceof GatewayError) return { kind: 'failed', error: faultOf?.() ?? lease, last };
    if (lease === lackedByAll) return { kind: 'failed', error: faultOf?.() ?? lackError(), last: lacking };
    const end = await attemptWith(lease);
    if (end === undefined) continue;
    if ('frames' in end) {
      call.onAnswering();
      return end;
    }
    const { attempt = reportOf(AttemptResult.SERVER_ERROR), amended } = end;
    if (lackResults.has(attempt.result)) lacking = end;
    else if (mayBeShown(attempt)) last = end;
    if (amended !== '') call.onAmended(amended);
    addAttempt(lease, attempt);
    if (finalResults.has(attempt.result)) {
      await reportLast();
      return { kind: 'failed', error: clientError(end), last };
    }
  }
  await reportLast();
  return { kind: 'failed', error: faultOf?.() ?? refusal ?? noneUsable(plan.formats, attempts), last };

  /**
   * Asks for an account. A client that disconnects in the meantime does not cancel the call:
   * brokers answer at once, and the lease is returned.
   */
  async function acquire(): Promise<Lease | GatewayError | typeof lackedByAll> {
    const tried = { formats: [...formats], attempts: [...attempts], allowCandidateFailover: plan.formats.length > 1 };
    const asked = { ...tried, features: [...features], accountLabels, pricedOnDay };
    call.onAsking();
    try {
      signal.throwIfAborted();
      const answer = await inSpan('acquire', {}, async (span) => {
        const acquired = await leases.acquire({ requestId, model, affinityKey, caller, ...asked }, call.patience);
        span.setAttribute('gateway.acquire.result', acquired.result.case ?? 'none');
        return acquired;
      });
      return leaseOf(answer);
    } catch (thrown) {
      // The broker may not have received the last attempt's result.
      void reportLast();
      if (!(thrown instanceof RpcError) || signal.aborted) throw thrown;
      call.onNoAccount({ cause: NoAccountCause.BROKER_AWAY });
      return outOfReach(plan.formats, { cause: thrown, retryAfterMs: notNowRetryMs });
    }
  }

  function leaseOf(answer: AcquireResponse): Lease | GatewayError | typeof lackedByAll {
    call.onAcquired(answer);
    const { result } = answer;
    if (result.case === 'lease') {
      if (lastFailure !== undefined) events.failedOver(lastFailure);
      return result.value;
    }
    // Only the request is concerned, whatever keeps other accounts.
    if (lacking?.attempt !== undefined && concernsRequest(lacking.attempt)) return lackedByAll;
    if (result.case === 'exhausted') return poolExhausted(result.value);
    if (refusal !== undefined) return refusal;
    if (result.case === 'unavailable' && result.value.lack !== Lack.UNSPECIFIED && lacking !== undefined)
      return lackedByAll;
    // A model that was known at the first attempt has not become unknown because an adapter went
    // away.
    if (result.case === 'unknownModel' && result.value.unpriced) return modelUnpriced(model);
    const isUnknown = result.case === 'unknownModel' && attempts.length === 0;
    if (isUnknown) return modelNotFound(model, plan.formats, result.value);
    const isRefused = attempts.length > 0 && attempts.every(({ report }) => report?.result === AttemptResult.REFUSED);
    const refused = isRefused && last !== undefined ? clientError(last) : undefined;
    if (refused?.code === 'upstream_rejected') return refused;
    return noneUsable(plan.formats, attempts, result.case === 'unavailable' ? result.value.retryAfterMs : undefined);
  }

  /**
   * For a class this is temporary (503). A direct model that no account has does not exist (404).
   */
  function lackError(): GatewayError {
    const error = clientError(lacking ?? create(ExecuteResultSchema));
    if (error.code !== 'model_not_found') return error;
    return model.startsWith('gateway/') ? noneUsable(plan.formats, []) : notOffered(model);
  }

  /**
   * Undefined: no other account of the lease's format can help, but another format may. Throws
   * errors that are final for the request, after the lease is free.
   */
  async function attemptWith(lease: Lease): Promise<Answering | ExecuteResult | undefined> {
    const isAway = (thrown: unknown): thrown is RpcError => thrown instanceof RpcError && !signal.aborted;
    const send = () => call.withinAttempt(() => untilHead(lease));
    try {
      return await send().catch((thrown) => {
        // The client has received nothing, and another replica of the adapter may be reachable: the
        // call is repeated there.
        if (isAway(thrown) && thrown.status === 'unavailable') return send();
        throw thrown;
      });
    } catch (thrown) {
      const isAdapterAway = isAway(thrown);
      if (isAdapterAway) call.usage?.onAttemptFailed();
      const isRefused = isRefusal(thrown);
      addAttempt(lease, cancelledReport, isRefused ? CancelReason.NOT_EXPRESSIBLE : cancelReasonOf(thrown, signal));
      const fault = isRefused ? faultOf?.() : undefined;
      if (isAdapterAway || (isRefused && fault === undefined && plan.formats.length > 1)) {
        if (isRefused) refusal ??= thrown;
        formats = formats.filter((format) => format !== lease.format);
        return undefined;
      }
      await reportLast();
      throw fault ?? thrown;
    }
  }

  /**
   * Sends the request and reads up to the first frame that decides: a head, or a result without
   * one.
   */
  async function untilHead(lease: Lease): Promise<Answering | ExecuteResult> {
    call.onLease(leases.startRenewing(lease));
    const { isRecorded } = call;
    const attempt = new AbortController();
    const frames = new AnswerFrames(execute(lease, attempt.signal), { call: attempt, client: signal, isRecorded });
    for (;;) {
      const frame = await frames.next();
      if (frame.head !== undefined) return { kind: 'answering', lease, first: frame, frames };
      if (frame.result !== undefined) {
        call.usage?.onAttemptFailed();
        return frame.result;
      }
      if (frame.usage !== undefined) call.usage?.[frame.sent ? 'onSent' : 'onUsage'](frame.usage);
      if (frame.produced) call.usage?.onProduced();
    }
  }

  function addAttempt(lease: Lease, report: AttemptReport, cancelReason?: CancelReason): void {
    call.onAttemptEnded(report, cancelReason);
    lastFailure = attemptFailure({ result: report.result, cancelReason: cancelReason ?? CancelReason.UNSPECIFIED });
    attempts.push(create(AttemptSchema, { lease, report }));
  }

  async function reportLast(): Promise<void> {
    const attempt = attempts.at(-1);
    if (attempt !== undefined) await leases.report({ requestId, affinityKey, attempt });
  }
}

/** A report of which no more is known than the result. */
export function reportOf(result: AttemptResult): AttemptReport {
  return create(AttemptReportSchema, { result });
}

/** Reveals nothing about the account. */
export const cancelledReport = reportOf(AttemptResult.CANCELLED);

/**
 * Why an unfinished answer was abandoned: the client disconnected, the adapter was lost, or it took
 * too long.
 */
export function cancelReasonOf(thrown: unknown, client: AbortSignal): CancelReason {
  if (thrown instanceof AnswerTooLongError) return CancelReason.TOO_LONG;
  return client.aborted ? CancelReason.CLIENT_LEFT : CancelReason.ADAPTER_AWAY;
}

/**
 * No other account would answer differently. After an answer that is too large, each further
 * attempt would be billed as well.
 */
const finalResults: ReadonlySet<AttemptResult> = new Set([AttemptResult.REJECTED, AttemptResult.ANSWER_TOO_LARGE]);

/** Another account may have what this one lacks. */
const lackResults: ReadonlySet<AttemptResult> = new Set([
  AttemptResult.MODEL_UNAVAILABLE,
  AttemptResult.FEATURE_UNAVAILABLE,
]);

const lackedByAll = Symbol('all accounts lack what the request needs');

/** The client's error if no further attempt is made. */
function clientError({ attempt, error }: ExecuteResult): GatewayError {
  const failure =
    error === undefined ? new GatewayError('providers_unavailable', 'The provider failed.') : fromErrorDetail(error);
  if (attempt?.result !== AttemptResult.ANSWER_TOO_LARGE) return failure;
  return new GatewayError(failure.code, failure.message, { isFinal: true, cause: failure });
}

function isRefusal(thrown: unknown): thrown is GatewayError {
  return thrown instanceof GatewayError && (thrown.code === 'invalid_request' || thrown.code === 'unsupported_content');
}
