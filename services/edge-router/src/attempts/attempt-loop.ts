import { create } from '@bufbuild/protobuf';
import { fromErrorDetail, GatewayError } from '@gateway/errors';
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
import { CancelReason } from '@gateway/proto/usage/v1/request_log_pb.js';
import { RpcError } from '@gateway/rpc';
import { inSpan } from '@gateway/telemetry';
import type { RequestEvents } from '../events.ts';
import type { AdmittedRequest } from '../request-context.ts';
import { attemptFailure } from '../usage/describe-request.ts';
import type { UsageRecorder } from '../usage/usage-recorder.ts';
import { AnswerFrames } from './answer-frames.ts';
import {
  AnswerTooLongError,
  mayBeShown,
  modelNotFound,
  noneUsable,
  notOffered,
  outOfReach,
  poolExhausted,
} from './attempt-errors.ts';
import type { Leases } from './leases.ts';

export interface AttemptPlan extends Pick<AdmittedRequest, 'requestId' | 'signal' | 'logEntry'> {
  /** A class id or a provider's model id. */
  readonly model: string;
  /**
   * Formats that the endpoint can speak. With several of them a class may move on to a candidate of
   * another one.
   */
  readonly formats: readonly ProviderFormat[];
  readonly affinityKey: string;
  /** What it asks for that some accounts may lack, by its names. Absent: nothing. */
  readonly features?: readonly string[] | undefined;
  /** The token's opaque key: the broker shares a pool that runs short among callers. */
  readonly caller: string;
  /**
   * What is wrong with the request for every adapter: it goes before any other failure. Absent:
   * only adapters can say.
   */
  readonly faultOf?: (() => GatewayError | undefined) | undefined;
  /** Sends the request with a lease. */
  readonly execute: (lease: Lease, signal: AbortSignal) => AsyncIterable<ExecuteResponse>;
  /** Records what attempts use until one is answering. Absent: nothing is used. */
  readonly recorder?: Pick<UsageRecorder, 'onLease' | 'onSent' | 'onUsage' | 'onProduced' | 'onAttemptFailed'>;
}

export type AttemptsResult = Answering | AttemptsFailed;

/**
 * An answer has begun. Its reader closes the frames, whatever happens: that ends the provider's
 * request.
 */
export interface Answering {
  readonly kind: 'answering';
  readonly lease: Lease;
  /** The frame with the head. */
  readonly first: ExecuteResponse;
  /** Those after it. */
  readonly frames: AnswerFrames;
}

export interface AttemptsFailed {
  readonly kind: 'failed';
  /** `model_not_found`, `pool_exhausted`, `providers_unavailable`, or what the provider refused. */
  readonly error: GatewayError;
  /**
   * How the last attempt ended of which a client may see what the provider said, if there is one.
   */
  readonly last: ExecuteResult | undefined;
}

export interface AttemptPeers {
  readonly leases: Pick<Leases, 'acquire' | 'keep' | 'report'>;
  readonly events: Pick<RequestEvents, 'failedOver'>;
}

/** No request makes more attempts than this, whatever the broker offers. */
const attemptCeiling = 50;

/**
 * The only loop over attempts: asks the broker for an account, tries it, and goes on until an
 * answer has begun or the broker has nothing left. The broker decides order and number; after the
 * first content there is no other attempt. Throws what an adapter finds wrong with the request,
 * where no other candidate may be tried.
 */
export async function runAttempts(plan: AttemptPlan, { leases, events }: AttemptPeers): Promise<AttemptsResult> {
  const { requestId, model, affinityKey, features = [], caller, signal, logEntry, faultOf, execute, recorder } = plan;
  const attempts: Attempt[] = [];
  /** Those that may still be asked for. */
  let { formats } = plan;
  let last: ExecuteResult | undefined;
  /**
   * How the last attempt ended whose account lacks what the request wants: that says something only
   * where all lack it.
   */
  let lacking: ExecuteResult | undefined;
  /** Why the first format that was tried can't be asked this; undefined when all could. */
  let refusal: GatewayError | undefined;
  /** How the last attempt failed, in one word. */
  let lastFailure: string | undefined;

  while (attempts.length < attemptCeiling && formats.length > 0) {
    const lease = await acquire();
    if (lease instanceof GatewayError) return { kind: 'failed', error: faultOf?.() ?? lease, last };
    if (lease === lackedByAll) return { kind: 'failed', error: faultOf?.() ?? lackError(), last: lacking };
    const end = await attemptWith(lease);
    if (end === undefined) continue;
    if ('frames' in end) {
      logEntry.onAnswering();
      return end;
    }
    const { attempt = reportOf(AttemptResult.SERVER_ERROR), amended } = end;
    if (lackResults.has(attempt.result)) lacking = end;
    else if (mayBeShown(attempt)) last = end;
    if (amended !== '') logEntry.onAmended(amended);
    note(lease, attempt);
    if (finalResults.has(attempt.result)) {
      await reportLast();
      return { kind: 'failed', error: clientError(end), last };
    }
  }
  await reportLast();
  return { kind: 'failed', error: faultOf?.() ?? refusal ?? noneUsable(plan.formats, attempts), last };

  /**
   * Asks for an account. A client that leaves meanwhile does not cancel that: brokers answer at
   * once, and a lease that was given is given back.
   */
  async function acquire(): Promise<Lease | GatewayError | typeof lackedByAll> {
    const tried = { formats: [...formats], attempts: [...attempts], allowCandidateFailover: plan.formats.length > 1 };
    const asked = { ...tried, features: [...features] };
    logEntry.onAsking();
    try {
      signal.throwIfAborted();
      const answer = await inSpan('acquire', {}, async (span) => {
        const acquired = await leases.acquire({ requestId, model, affinityKey, caller, ...asked });
        span.setAttribute('gateway.acquire.result', acquired.result.case ?? 'none');
        return acquired;
      });
      return leaseOf(answer);
    } catch (thrown) {
      // It may not have heard how the last attempt ended.
      void reportLast();
      if (!(thrown instanceof RpcError) || signal.aborted) throw thrown;
      logEntry.onBrokerAway();
      return outOfReach(plan.formats, thrown);
    }
  }

  function leaseOf(answer: AcquireResponse): Lease | GatewayError | typeof lackedByAll {
    logEntry.onAcquired(answer);
    const { result } = answer;
    if (result.case === 'lease') {
      if (lastFailure !== undefined) events.failedOver(lastFailure);
      return result.value;
    }
    if (result.case === 'exhausted') return poolExhausted(result.value);
    if (refusal !== undefined) return refusal;
    if (result.case === 'unavailable' && result.value.lack !== Lack.UNSPECIFIED && lacking !== undefined)
      return lackedByAll;
    // A model that the first attempt knew has not become unknown because an adapter went away
    // since.
    const isUnknown = result.case === 'unknownModel' && attempts.length === 0;
    return isUnknown ? modelNotFound(model, plan.formats, result.value) : noneUsable(plan.formats, attempts);
  }

  /**
   * A class has further candidates at another time; a model that no account has does not exist for
   * clients.
   */
  function lackError(): GatewayError {
    const error = clientError(lacking ?? create(ExecuteResultSchema));
    if (error.code !== 'model_not_found') return error;
    return model.startsWith('gateway/') ? noneUsable(plan.formats, []) : notOffered(model);
  }

  /**
   * Undefined: no other account of the lease's format can help, but another format may. Throws what
   * is final for the request, once the lease is free.
   */
  async function attemptWith(lease: Lease): Promise<Answering | ExecuteResult | undefined> {
    const isAway = (thrown: unknown): thrown is RpcError => thrown instanceof RpcError && !signal.aborted;
    const send = () => logEntry.withinAttempt(() => untilHead(lease));
    try {
      return await send().catch((thrown) => {
        // Nothing has begun for the client, and another replica of the adapter may be there: the
        // call goes to that one.
        if (isAway(thrown) && thrown.status === 'unavailable') return send();
        throw thrown;
      });
    } catch (thrown) {
      const isAdapterAway = isAway(thrown);
      if (isAdapterAway) recorder?.onAttemptFailed();
      const isRefused = isRefusal(thrown);
      note(lease, cancelledReport, isRefused ? CancelReason.NOT_EXPRESSIBLE : cancelReasonOf(thrown, signal));
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
    recorder?.onLease(lease);
    leases.keep(requestId, lease);
    const call = new AbortController();
    const isRecorded = recorder !== undefined;
    const frames = new AnswerFrames(execute(lease, call.signal), { call, client: signal, isRecorded });
    for (;;) {
      const frame = await frames.next();
      if (frame.head !== undefined) return { kind: 'answering', lease, first: frame, frames };
      if (frame.result !== undefined) {
        recorder?.onAttemptFailed();
        return frame.result;
      }
      if (frame.usage !== undefined) recorder?.[frame.sent ? 'onSent' : 'onUsage'](frame.usage);
      if (frame.produced) recorder?.onProduced();
    }
  }

  function note(lease: Lease, report: AttemptReport, cancelReason?: CancelReason): void {
    logEntry.onAttemptEnded(report, cancelReason);
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

/** Says nothing of the account. */
export const cancelledReport = reportOf(AttemptResult.CANCELLED);

/**
 * Why an answer that its provider did not end was given up: the client has gone, or the adapter
 * has, or it took too long.
 */
export function cancelReasonOf(thrown: unknown, client: AbortSignal): CancelReason {
  if (thrown instanceof AnswerTooLongError) return CancelReason.TOO_LONG;
  return client.aborted ? CancelReason.CLIENT_LEFT : CancelReason.ADAPTER_AWAY;
}

/**
 * No other account would answer otherwise; after an answer that is too large each further try would
 * be billed as this one was.
 */
const finalResults: ReadonlySet<AttemptResult> = new Set([AttemptResult.REJECTED, AttemptResult.ANSWER_TOO_LARGE]);

/** Another account may have what this one lacks. */
const lackResults: ReadonlySet<AttemptResult> = new Set([
  AttemptResult.MODEL_UNAVAILABLE,
  AttemptResult.FEATURE_UNAVAILABLE,
]);

const lackedByAll = Symbol('no account has what the request wants');

/** What a client gets when no further attempt is made. */
function clientError({ attempt, error }: ExecuteResult): GatewayError {
  const failure =
    error === undefined ? new GatewayError('providers_unavailable', 'The provider failed.') : fromErrorDetail(error);
  if (attempt?.result !== AttemptResult.ANSWER_TOO_LARGE) return failure;
  return new GatewayError(failure.code, failure.message, { isFinal: true, cause: failure });
}

function isRefusal(thrown: unknown): thrown is GatewayError {
  return thrown instanceof GatewayError && (thrown.code === 'invalid_request' || thrown.code === 'unsupported_content');
}
