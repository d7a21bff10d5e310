import { GatewayError } from '@gateway/errors';
import {
  type Attempt,
  type AttemptOutcome,
  AttemptResult,
  type Lease,
  type ProviderFormat,
} from '@gateway/proto/pool/v1/account_pb.js';
import type {
  AcquireRequest,
  AcquireResponse,
  PoolBrokerService,
} from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { AttemptGivenUp } from '@gateway/proto/usage/v1/request_log_pb.js';
import { type Client, RpcError } from '@gateway/rpc';
import type { EdgeRouterConfig } from '../config.ts';
import type { ClientPresence } from '../http/client-presence.ts';
import type { RequestLogEntry } from '../usage/request-log.ts';
import { AnswerTooLongError } from './answer-too-long-error.ts';
import { mayBeShown, modelNotFoundFor, noneUsable, outOfReach, poolExhausted } from './attempt-errors.ts';
import { type AttemptReporter, reportOf } from './attempt-reporter.ts';
import { type AdapterAway, type AttemptStart, cancelledOutcome, type FailedAttempt } from './attempt-start.ts';

export interface AttemptPlan<T> {
  readonly requestId: string;
  /** A class id or a provider's model id. */
  readonly model: string;
  /** Formats that the endpoint can speak. */
  readonly formats: readonly ProviderFormat[];
  readonly affinityKey: string;
  /** The token's opaque key: the broker shares a pool that runs short among callers. */
  readonly caller: string;
  readonly allowCandidateFailover: boolean;
  /** What is wrong with the request for whichever adapter: told before any other failure. Absent: only adapters can tell. */
  readonly faultOf?: (() => GatewayError | undefined) | undefined;
  readonly client: Pick<ClientPresence, 'hasLeft'>;
  /** Makes one attempt. Throws only what is final for the request. */
  readonly attempt: (lease: Lease) => Promise<AttemptStart<T>>;
  /** Is told what the broker says and how each attempt goes. */
  readonly trace: AttemptObserver;
}

/** What is told of attempts until one is answering. */
export type AttemptObserver = Pick<
  RequestLogEntry,
  'onAsking' | 'onAcquired' | 'onBrokerAway' | 'onAnswering' | 'onAmended' | 'onAttemptEnded'
>;

export type AttemptsEnd<T> = { readonly kind: 'answering'; readonly lease: Lease; readonly value: T } | AttemptsFailed;

export interface AttemptsFailed {
  readonly kind: 'failed';
  /** `model_not_found`, `pool_exhausted`, `providers_unavailable`, or what the provider refused. */
  readonly error: GatewayError;
  /** The last failed attempt of which a client may see what the provider said, if there is one. */
  readonly last: FailedAttempt | undefined;
}

export interface AttemptPeers {
  readonly broker: Client<typeof PoolBrokerService>;
  readonly reporter: Pick<AttemptReporter, 'report'>;
  readonly config: Pick<EdgeRouterConfig, 'rpcTimeoutMs'>;
}

/** No request makes more attempts than this, whatever the broker offers. */
const attemptCeiling = 50;

/**
 * The only loop over attempts: asks the broker for an account, tries it, and goes on until an answer has begun or the
 * broker has nothing left. The broker decides order and number; after the first content there is no other attempt.
 * Throws what an adapter finds wrong with the request, where no other candidate may be tried.
 */
export function attemptUntilAnswering<T>(plan: AttemptPlan<T>, peers: AttemptPeers): Promise<AttemptsEnd<T>> {
  return new AttemptLoop(plan, peers).run();
}

/** How the attempt with a lease ended, in the broker's words. */
export function attemptOf(lease: Lease, outcome: AttemptOutcome): Attempt {
  return { $typeName: 'gateway.pool.v1.Attempt', lease, outcome };
}

/** The attempts of one request. Most make one: what only a second one needs is made when there is one. */
class AttemptLoop<T> {
  readonly #plan: AttemptPlan<T>;
  readonly #peers: AttemptPeers;
  #attempts: readonly Attempt[] = noAttempts;
  /** Those that may still be asked for. */
  #formats: readonly ProviderFormat[];
  #last: FailedAttempt | undefined;
  /** Why the first format that was tried can't be asked this; undefined when all could. */
  #refusal: GatewayError | undefined;

  constructor(plan: AttemptPlan<T>, peers: AttemptPeers) {
    this.#plan = plan;
    this.#peers = peers;
    this.#formats = plan.formats;
  }

  /** One function for all that is waited for: most requests wait twice here, and each function more costs them as much again. */
  async run(): Promise<AttemptsEnd<T>> {
    const { attempt, trace, faultOf } = this.#plan;
    while (this.#attempts.length < attemptCeiling && this.#formats.length > 0) {
      let acquired: Lease | GatewayError;
      try {
        acquired = this.#leaseOf(await this.#acquire());
      } catch (thrown) {
        acquired = this.#brokerAway(thrown);
      }
      if (acquired instanceof GatewayError) return this.#failed(faultOf?.() ?? acquired);
      let start: AttemptStart<T> | RefusedAttempt;
      try {
        start = await attempt(acquired);
        // Nothing has begun for the client, and another replica may be there: the call goes to that one.
        if (start.kind === 'adapter_away' && start.isGone) start = await attempt(acquired);
      } catch (thrown) {
        start = await this.#refusedOrFinal(thrown, acquired);
      }
      if (start.kind === 'answering') {
        trace.onAnswering();
        return { kind: 'answering', lease: acquired, value: start.value };
      }
      const ended = this.#note(start, acquired);
      if (start.kind === 'failed' && start.outcome.result === AttemptResult.REJECTED) {
        await this.#report(ended);
        return this.#failed(start.error);
      }
      if (start.kind === 'failed' && start.outcome.result === AttemptResult.ANSWER_TOO_LARGE) {
        await this.#report(ended);
        return this.#failed(neverAgain(start.error));
      }
      this.#attempts = [...this.#attempts, ended];
    }
    const unreported = this.#attempts.at(-1);
    if (unreported !== undefined) await this.#report(unreported);
    return this.#failed(faultOf?.() ?? this.#refusal ?? this.#noneUsable());
  }

  /**
   * Asks for an account. A client that leaves meanwhile does not cancel that: brokers answer at once, and a lease that was given
   * is given back.
   */
  #acquire(): Promise<AcquireResponse> {
    const { requestId, model, affinityKey, caller, allowCandidateFailover, client, trace } = this.#plan;
    const { broker, config } = this.#peers;
    trace.onAsking();
    if (client.hasLeft) throw new RpcError('cancelled', 'The client has left.');
    // A whole message, named as such: it need not be completed from its fields.
    const request: AcquireRequest = {
      $typeName: 'gateway.pool.v1.AcquireRequest',
      requestId,
      model,
      affinityKey,
      caller,
      allowCandidateFailover,
      formats: [...this.#formats],
      attempts: [...this.#attempts],
    };
    return broker.acquire(request, { timeoutMs: config.rpcTimeoutMs });
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
    return isUnknown ? modelNotFoundFor(model, formats, result.value) : this.#noneUsable();
  }

  #noneUsable(): GatewayError {
    return noneUsable(this.#plan.formats, this.#attempts);
  }

  /** Throws what is no broker's doing. */
  #brokerAway(thrown: unknown): GatewayError {
    // It may not have heard how the last attempt ended.
    const last = this.#attempts.at(-1);
    if (last !== undefined) void this.#report(last);
    if (!(thrown instanceof RpcError) || this.#plan.client.hasLeft) throw thrown;
    this.#plan.trace.onBrokerAway();
    return outOfReach(this.#plan.formats, thrown);
  }

  /** What ends the request is thrown, once the lease is free: no candidate of another format may be tried. */
  async #refusedOrFinal(thrown: unknown, lease: Lease): Promise<RefusedAttempt> {
    const { allowCandidateFailover, faultOf, client, trace } = this.#plan;
    const fault = isRefusal(thrown) ? faultOf?.() : undefined;
    if (allowCandidateFailover && isRefusal(thrown) && fault === undefined) return { kind: 'refused', error: thrown };
    trace.onAttemptEnded(cancelledOutcome, givenUpBy(thrown, client));
    await this.#report(attemptOf(lease, cancelledOutcome));
    throw fault ?? thrown;
  }

  #note(start: FailedAttempt | RefusedAttempt | AdapterAway, lease: Lease): Attempt {
    const { trace } = this.#plan;
    if (start.kind === 'failed') {
      if (mayBeShown(start.outcome)) this.#last = start;
      if (start.amended !== undefined) trace.onAmended(start.amended);
      trace.onAttemptEnded(start.outcome);
      return attemptOf(lease, start.outcome);
    }
    const isRefused = start.kind === 'refused';
    if (isRefused) this.#refusal ??= start.error;
    this.#formats = this.#formats.filter((format) => format !== lease.format);
    trace.onAttemptEnded(cancelledOutcome, isRefused ? AttemptGivenUp.NOT_EXPRESSIBLE : AttemptGivenUp.ADAPTER_AWAY);
    return attemptOf(lease, cancelledOutcome);
  }

  #report(attempt: Attempt): Promise<void> {
    const { requestId, affinityKey } = this.#plan;
    return this.#peers.reporter.report(reportOf(requestId, affinityKey, attempt));
  }

  #failed(error: GatewayError): AttemptsFailed {
    return { kind: 'failed', error, last: this.#last };
  }
}

const noAttempts: readonly Attempt[] = [];

/** A format that can't be asked what the client asks; another one may. */
interface RefusedAttempt {
  readonly kind: 'refused';
  readonly error: GatewayError;
}

function givenUpBy(thrown: unknown, { hasLeft }: AttemptPlan<unknown>['client']): AttemptGivenUp {
  if (isRefusal(thrown)) return AttemptGivenUp.NOT_EXPRESSIBLE;
  if (thrown instanceof AnswerTooLongError) return AttemptGivenUp.TOO_LONG;
  return hasLeft ? AttemptGivenUp.CLIENT_LEFT : AttemptGivenUp.ADAPTER_AWAY;
}

function isRefusal(thrown: unknown): thrown is GatewayError {
  return thrown instanceof GatewayError && (thrown.code === 'invalid_request' || thrown.code === 'unsupported_content');
}
/** Each further try would be answered, and billed, as this one was. */
function neverAgain(error: GatewayError): GatewayError {
  return new GatewayError(error.code, error.message, { isFinal: true, cause: error });
}
