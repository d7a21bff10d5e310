import { create } from '@bufbuild/protobuf';
import { fromErrorDetail, GatewayError } from '@gateway/errors';
import type { ExecuteOutcome, ExecuteResponse, UpstreamAnswer } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import {
  type Attempt,
  type AttemptOutcome,
  AttemptOutcomeSchema,
  AttemptResult,
  AttemptSchema,
  type Lease,
  type ProviderFormat,
} from '@gateway/proto/pool/v1/account_pb.js';
import type { AcquireResponse, PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { AttemptGivenUp } from '@gateway/proto/usage/v1/request_log_pb.js';
import { type Client, RpcError } from '@gateway/rpc';
import type { EdgeRouterConfig } from '../config.ts';
import type { RequestLogEntry } from '../usage/request-log.ts';
import type { UsageRecorder } from '../usage/usage-recorder.ts';
import {
  AnswerTooLongError,
  mayBeShown,
  modelNotFound,
  noneUsable,
  outOfReach,
  poolExhausted,
} from './attempt-errors.ts';
import type { Leases } from './leases.ts';

export interface AttemptPlan {
  readonly requestId: string;
  /** A class id or a provider's model id. */
  readonly model: string;
  /** Formats that the endpoint can speak. */
  readonly formats: readonly ProviderFormat[];
  readonly affinityKey: string;
  /** The token's opaque key: the broker shares a pool that runs short among callers. */
  readonly caller: string;
  readonly allowCandidateFailover: boolean;
  /** What is wrong with the request for every adapter: it goes before any other failure. Absent: only adapters can say. */
  readonly faultOf?: (() => GatewayError | undefined) | undefined;
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal;
  /** Sends the request with a lease. */
  readonly execute: (lease: Lease, signal: AbortSignal) => AsyncIterable<ExecuteResponse>;
  /** Records what attempts use until one is answering. Absent: nothing is used. */
  readonly recorder?: Pick<UsageRecorder, 'onLease' | 'onSent' | 'onUsage' | 'onAttemptFailed'>;
  readonly trace: RequestLogEntry;
}

export type AttemptsEnd = Answering | AttemptsFailed;

/** An answer has begun. Its reader calls `frames.return()`, whatever happens: that ends the provider's request. */
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
  /** The last failed attempt of which a client may see what the provider said, if there is one. */
  readonly last: FailedAttempt | undefined;
}

export interface FailedAttempt {
  readonly kind: 'failed';
  readonly outcome: AttemptOutcome;
  /** What the client gets when no further attempt is made. */
  readonly error: GatewayError;
  /** The provider's own answer, for endpoints that pass it on. */
  readonly upstreamAnswer: UpstreamAnswer | undefined;
  /** What the provider refused, when the request was sent to it once more without that. Absent or empty: it was sent once. */
  readonly amended?: string;
}

export interface AttemptPeers {
  readonly broker: Client<typeof PoolBrokerService>;
  readonly leases: Pick<Leases, 'keep' | 'report'>;
  readonly config: Pick<EdgeRouterConfig, 'rpcTimeoutMs'>;
}

/**
 * The only loop over attempts: asks the broker for an account, tries it, and goes on until an answer has begun or the
 * broker has nothing left. The broker decides order and number; after the first content there is no other attempt.
 * Throws what an adapter finds wrong with the request, where no other candidate may be tried.
 */
export function attemptUntilAnswering(plan: AttemptPlan, peers: AttemptPeers): Promise<AttemptsEnd> {
  return new AttemptLoop(plan, peers).run();
}

/** No request makes more attempts than this, whatever the broker offers. */
const attemptCeiling = 50;

/** An outcome of which no more is known than its result. */
export function attemptOutcome(result: AttemptResult): AttemptOutcome {
  return create(AttemptOutcomeSchema, { result });
}

/** No other account of the lease's format can help; another format may. */
interface FormatFailed {
  readonly kind: 'format_failed';
  readonly givenUp: AttemptGivenUp;
  /** The format can't be asked what the client asks. */
  readonly refusal?: GatewayError;
  /** The connection to the adapter broke or could not be made, so that another replica of it may serve. */
  readonly isGone?: boolean;
}

class AttemptLoop {
  readonly #plan: AttemptPlan;
  readonly #peers: AttemptPeers;
  #attempts: readonly Attempt[] = [];
  /** Those that may still be asked for. */
  #formats: readonly ProviderFormat[];
  #last: FailedAttempt | undefined;
  /** Why the first format that was tried can't be asked this; undefined when all could. */
  #refusal: GatewayError | undefined;

  constructor(plan: AttemptPlan, peers: AttemptPeers) {
    this.#plan = plan;
    this.#peers = peers;
    this.#formats = plan.formats;
  }

  async run(): Promise<AttemptsEnd> {
    const { trace, faultOf } = this.#plan;
    while (this.#attempts.length < attemptCeiling && this.#formats.length > 0) {
      const lease = await this.#acquire();
      if (lease instanceof GatewayError) return this.#failed(faultOf?.() ?? lease);
      const result = await this.#attempt(lease);
      if (result.kind === 'answering') {
        trace.onAnswering();
        return result;
      }
      const attempt = this.#note(result, lease);
      if (result.kind === 'failed' && finalResults.has(result.outcome.result)) {
        await this.#report(attempt);
        return this.#failed(result.error);
      }
      this.#attempts = [...this.#attempts, attempt];
    }
    const unreported = this.#attempts.at(-1);
    if (unreported !== undefined) await this.#report(unreported);
    return this.#failed(faultOf?.() ?? this.#refusal ?? this.#noneUsable());
  }

  /**
   * Asks for an account. A client that leaves meanwhile does not cancel that: brokers answer at once, and a lease that was given
   * is given back.
   */
  async #acquire(): Promise<Lease | GatewayError> {
    const { requestId, model, affinityKey, caller, allowCandidateFailover, signal, trace } = this.#plan;
    const { broker, config } = this.#peers;
    const [formats, attempts] = [[...this.#formats], [...this.#attempts]];
    const request = { requestId, model, affinityKey, caller, allowCandidateFailover, formats, attempts };
    trace.onAsking();
    try {
      signal.throwIfAborted();
      return this.#leaseOf(await broker.acquire(request, { timeoutMs: config.rpcTimeoutMs }));
    } catch (thrown) {
      // It may not have heard how the last attempt ended.
      const last = this.#attempts.at(-1);
      if (last !== undefined) void this.#report(last);
      if (!(thrown instanceof RpcError) || signal.aborted) throw thrown;
      trace.onBrokerAway();
      return outOfReach(this.#plan.formats, thrown);
    }
  }

  #leaseOf(answer: AcquireResponse): Lease | GatewayError {
    this.#plan.trace.onAcquired(answer);
    const { result } = answer;
    if (result.case === 'lease') return result.value;
    if (result.case === 'exhausted') return poolExhausted(result.value);
    if (this.#refusal !== undefined) return this.#refusal;
    const { model, formats } = this.#plan;
    // A model that the first attempt knew has not become unknown because an adapter went away since.
    const isUnknown = result.case === 'unknownModel' && this.#attempts.length === 0;
    return isUnknown ? modelNotFound(model, formats, result.value) : this.#noneUsable();
  }

  /** Throws what is final for the request, once the lease is free. */
  async #attempt(lease: Lease): Promise<Answering | FailedAttempt | FormatFailed> {
    const { allowCandidateFailover, faultOf, signal, trace } = this.#plan;
    try {
      const result = await this.#untilHead(lease);
      // Nothing has begun for the client, and another replica may be there: the call goes to that one.
      return result.kind === 'format_failed' && result.isGone ? await this.#untilHead(lease) : result;
    } catch (thrown) {
      const refusal = isRefusal(thrown) ? thrown : undefined;
      const fault = refusal && faultOf?.();
      const givenUp = refusal ? AttemptGivenUp.NOT_EXPRESSIBLE : givenUpBy(thrown, signal);
      if (allowCandidateFailover && refusal && fault === undefined) return { kind: 'format_failed', givenUp, refusal };
      trace.onAttemptEnded(cancelledOutcome, givenUp);
      await this.#report(create(AttemptSchema, { lease, outcome: cancelledOutcome }));
      throw fault ?? thrown;
    }
  }

  /** Sends the request and reads up to the first frame that decides: a head, or an outcome without one. */
  async #untilHead(lease: Lease): Promise<Answering | FailedAttempt | FormatFailed> {
    const { requestId, execute, signal, recorder } = this.#plan;
    recorder?.onLease(lease);
    this.#peers.leases.keep(requestId, lease);
    const call = new AbortController();
    const frames = answerFrames(
      { frames: execute(lease, call.signal), abort: () => call.abort(), isRecorded: recorder !== undefined },
      signal,
    );
    try {
      for (;;) {
        const { value: frame } = await frames.next();
        if (frame?.head !== undefined) return { kind: 'answering', lease, first: frame, frames };
        if (frame === undefined || frame.outcome !== undefined) {
          await frames.return(undefined);
          recorder?.onAttemptFailed();
          return failedAttempt(frame?.outcome);
        }
        if (frame.usage !== undefined) recorder?.[frame.sent ? 'onSent' : 'onUsage'](frame.usage);
      }
    } catch (thrown) {
      if (!(thrown instanceof RpcError) || signal.aborted) throw thrown;
      recorder?.onAttemptFailed();
      const isGone = thrown.status === 'unavailable';
      return { kind: 'format_failed', givenUp: AttemptGivenUp.ADAPTER_AWAY, isGone };
    }
  }

  #note(result: FailedAttempt | FormatFailed, lease: Lease): Attempt {
    const { trace } = this.#plan;
    if (result.kind === 'failed') {
      if (mayBeShown(result.outcome)) this.#last = result;
      if (result.amended) trace.onAmended(result.amended);
      trace.onAttemptEnded(result.outcome);
      return create(AttemptSchema, { lease, outcome: result.outcome });
    }
    this.#refusal ??= result.refusal;
    this.#formats = this.#formats.filter((format) => format !== lease.format);
    trace.onAttemptEnded(cancelledOutcome, result.givenUp);
    return create(AttemptSchema, { lease, outcome: cancelledOutcome });
  }

  #noneUsable(): GatewayError {
    return noneUsable(this.#plan.formats, this.#attempts);
  }

  #report(attempt: Attempt): Promise<void> {
    const { requestId, affinityKey } = this.#plan;
    return this.#peers.leases.report({ requestId, affinityKey, attempt });
  }

  #failed(error: GatewayError): AttemptsFailed {
    return { kind: 'failed', error, last: this.#last };
  }
}

/** Says nothing of the account. */
export const cancelledOutcome = attemptOutcome(AttemptResult.CANCELLED);

/** Why an answer that its provider did not end was given up: the client has gone, or the adapter has, or it took too long. */
export function givenUpBy(thrown: unknown, client: AbortSignal): AttemptGivenUp {
  if (thrown instanceof AnswerTooLongError) return AttemptGivenUp.TOO_LONG;
  return client.aborted ? AttemptGivenUp.CLIENT_LEFT : AttemptGivenUp.ADAPTER_AWAY;
}

/** No other account would answer otherwise; after an answer that is too large each further try would be billed as this one was. */
const finalResults: ReadonlySet<AttemptResult> = new Set([AttemptResult.REJECTED, AttemptResult.ANSWER_TOO_LARGE]);

function failedAttempt({ attempt, error, upstreamAnswer, amended }: Partial<ExecuteOutcome> = {}): FailedAttempt {
  const outcome = attempt ?? attemptOutcome(AttemptResult.SERVER_ERROR);
  const failure =
    error === undefined ? new GatewayError('providers_unavailable', 'The provider failed.') : fromErrorDetail(error);
  const isFinal = outcome.result === AttemptResult.ANSWER_TOO_LARGE;
  return {
    kind: 'failed',
    outcome,
    error: isFinal ? new GatewayError(failure.code, failure.message, { isFinal, cause: failure }) : failure,
    upstreamAnswer,
    amended: amended ?? '',
  };
}

function isRefusal(thrown: unknown): thrown is GatewayError {
  return thrown instanceof GatewayError && (thrown.code === 'invalid_request' || thrown.code === 'unsupported_content');
}

/** The frames of one attempt, as its reader takes them. The one with an outcome is the last. Throws when none comes. */
export type AnswerFrames = AsyncGenerator<ExecuteResponse, undefined>;

/** A call of an adapter, which aborting ends. It begins with its first frame. */
export interface AdapterCall {
  readonly frames: AsyncIterable<ExecuteResponse>;
  readonly abort: () => void;
  /** It is recorded whether the request was sent. */
  readonly isRecorded: boolean;
}

/**
 * Reads a call of an adapter. It ends when its reader returns, and when `client` aborts: at once, but for one case. Before it is
 * known that the request was sent, the adapter has a little time to say so: what the provider was asked must be recorded, and what
 * it was not must not.
 */
export async function* answerFrames(call: AdapterCall, client: AbortSignal): AnswerFrames {
  client.throwIfAborted();
  let isSent = !call.isRecorded;
  let patience: NodeJS.Timeout | undefined;
  const onLeave = () => {
    if (isSent) call.abort();
    else patience = setTimeout(call.abort, adapterAnswersWithinMs);
  };
  client.addEventListener('abort', onLeave, { once: true });
  try {
    for await (const frame of call.frames) {
      isSent = true;
      if (client.aborted) call.abort();
      yield frame;
      if (frame.outcome !== undefined) return;
    }
    throw new RpcError('internal', 'The adapter ended its answer without an outcome.');
  } catch (thrown) {
    // The call's own deadline is how long an answer may last.
    const isTooLong = thrown instanceof RpcError && thrown.status === 'deadline_exceeded';
    throw isTooLong ? new AnswerTooLongError(thrown) : thrown;
  } finally {
    clearTimeout(patience);
    client.removeEventListener('abort', onLeave);
  }
}

/** Its word is under way for much less, on a machine that is not overloaded. */
const adapterAnswersWithinMs = 500;
