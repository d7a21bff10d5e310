import { timestampMs } from '@bufbuild/protobuf/wkt';
import { GatewayError } from '@gateway/errors';
import { AttemptGivenUp } from '@gateway/proto/edge/v1/request_trace_service_pb.js';
import {
  type Attempt,
  type AttemptOutcome,
  AttemptResult,
  type Lease,
  type ProviderFormat,
} from '@gateway/proto/pool/v1/account_pb.js';
import type {
  AcquireRequest,
  PoolBrokerService,
  PoolExhausted,
} from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { type Client, RpcError } from '@gateway/rpc';
import type { EdgeRouterConfig } from '../config.ts';
import type { ClientPresence } from '../http/client-presence.ts';
import type { RequestTrace } from '../trace/request-trace.ts';
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
  RequestTrace,
  'onAsking' | 'onAcquired' | 'onBrokerAway' | 'onAnswering' | 'onAmended' | 'onAttemptEnded'
>;

export type AttemptsEnd<T> = { readonly kind: 'answering'; readonly lease: Lease; readonly value: T } | AttemptsFailed;

export interface AttemptsFailed {
  readonly kind: 'failed';
  /** `model_not_found`, `pool_exhausted`, `providers_unavailable`, or what the provider refused. */
  readonly error: GatewayError;
  /** The last attempt that a provider answered, if one did. */
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
export async function attemptUntilAnswering<T>(plan: AttemptPlan<T>, peers: AttemptPeers): Promise<AttemptsEnd<T>> {
  // Copied when a further attempt is made, which is seldom.
  let attempts: readonly Attempt[] = noAttempts;
  let formats = plan.formats;
  let last: FailedAttempt | undefined;
  let refusal: GatewayError | undefined;
  while (attempts.length < attemptCeiling && formats.length > 0) {
    const acquired = await acquire(plan, { attempts, formats, refusal }, peers);
    if (acquired instanceof GatewayError) return { kind: 'failed', error: plan.faultOf?.() ?? acquired, last };
    const start = await attemptWith(acquired, plan, peers);
    if (start.kind === 'answering') {
      plan.trace.onAnswering();
      return { kind: 'answering', lease: acquired, value: start.value };
    }
    if (start.kind === 'failed') last = start;
    else formats = formats.filter((format) => format !== acquired.format);
    if (start.kind === 'refused') refusal ??= start.error;
    const ended = attemptOf(acquired, start.kind === 'failed' ? start.outcome : cancelledOutcome);
    noteEnd(start, plan.trace);
    if (start.kind === 'failed' && start.outcome.result === AttemptResult.REJECTED) {
      await report(plan, ended, peers);
      return { kind: 'failed', error: start.error, last };
    }
    attempts = [...attempts, ended];
  }
  const unreported = attempts.at(-1);
  if (unreported !== undefined) await report(plan, unreported, peers);
  return { kind: 'failed', error: plan.faultOf?.() ?? refusal ?? noneAvailable(), last };
}

const noAttempts: readonly Attempt[] = [];

/** How the attempt with a lease ended, in the broker's words. */
export function attemptOf(lease: Lease, outcome: AttemptOutcome): Attempt {
  return { $typeName: 'gateway.pool.v1.Attempt', lease, outcome };
}

function noteEnd(start: FailedAttempt | RefusedAttempt | AdapterAway, trace: AttemptObserver): void {
  if (start.kind === 'adapter_away') return trace.onAttemptEnded(cancelledOutcome, AttemptGivenUp.ADAPTER_AWAY);
  if (start.kind === 'refused') return trace.onAttemptEnded(cancelledOutcome, AttemptGivenUp.NOT_EXPRESSIBLE);
  if (start.amended !== undefined) trace.onAmended(start.amended);
  trace.onAttemptEnded(start.outcome);
}

interface SoFar {
  readonly attempts: readonly Attempt[];
  readonly formats: readonly ProviderFormat[];
  /** Why the first format that was tried can't be asked this; undefined when all could. */
  readonly refusal: GatewayError | undefined;
}

/**
 * Asks for an account. A client that leaves meanwhile does not cancel that: brokers answer at once, and a lease that was given is
 * given back.
 */
async function acquire<T>(
  { requestId, model, affinityKey, caller, allowCandidateFailover, client, trace }: AttemptPlan<T>,
  { attempts, formats, refusal }: SoFar,
  { broker, reporter, config }: AttemptPeers,
): Promise<Lease | GatewayError> {
  // A whole message, named as such: it need not be completed from its fields.
  const request: AcquireRequest = {
    $typeName: 'gateway.pool.v1.AcquireRequest',
    requestId,
    model,
    affinityKey,
    caller,
    allowCandidateFailover,
    formats: [...formats],
    attempts: [...attempts],
  };
  trace.onAsking();
  try {
    if (client.hasLeft) throw new RpcError('cancelled', 'The client has left.');
    const answer = await broker.acquire(request, { timeoutMs: config.rpcTimeoutMs });
    trace.onAcquired(answer);
    const { result } = answer;
    if (result.case === 'lease') return result.value;
    if (result.case === 'exhausted') return exhausted(result.value);
    if (refusal !== undefined) return refusal;
    // A model that the first attempt knew has not become unknown because an adapter went away since.
    return result.case === 'unknownModel' && attempts.length === 0 ? modelNotFound(model) : noneAvailable();
  } catch (thrown) {
    // It may not have heard how the last attempt ended.
    const last = attempts.at(-1);
    if (last !== undefined) void reporter.report(reportOf(requestId, affinityKey, last));
    if (!(thrown instanceof RpcError) || client.hasLeft) throw thrown;
    trace.onBrokerAway();
    return noneAvailable(thrown);
  }
}

/** One attempt. Its lease is freed when it throws, which ends the request: no candidate of another format may be tried. */
async function attemptWith<T>(
  lease: Lease,
  plan: AttemptPlan<T>,
  peers: AttemptPeers,
): Promise<AttemptStart<T> | RefusedAttempt> {
  try {
    const start = await plan.attempt(lease);
    // Nothing has begun for the client, and another replica may be there: the call goes to that one.
    return start.kind === 'adapter_away' && start.isGone ? await plan.attempt(lease) : start;
  } catch (thrown) {
    const fault = isRefusal(thrown) ? plan.faultOf?.() : undefined;
    if (plan.allowCandidateFailover && isRefusal(thrown) && fault === undefined) {
      return { kind: 'refused', error: thrown };
    }
    plan.trace.onAttemptEnded(cancelledOutcome, givenUpBy(thrown, plan.client));
    await report(plan, attemptOf(lease, cancelledOutcome), peers);
    throw fault ?? thrown;
  }
}

function givenUpBy(thrown: unknown, { hasLeft }: AttemptPlan<unknown>['client']): AttemptGivenUp {
  if (isRefusal(thrown)) return AttemptGivenUp.NOT_EXPRESSIBLE;
  return hasLeft ? AttemptGivenUp.CLIENT_LEFT : AttemptGivenUp.ADAPTER_AWAY;
}

/** A format that can't be asked what the client asks; another one may. */
interface RefusedAttempt {
  readonly kind: 'refused';
  readonly error: GatewayError;
}

function isRefusal(thrown: unknown): thrown is GatewayError {
  return thrown instanceof GatewayError && (thrown.code === 'invalid_request' || thrown.code === 'unsupported_content');
}

function report<T>(
  { requestId, affinityKey }: AttemptPlan<T>,
  attempt: Attempt,
  { reporter }: AttemptPeers,
): Promise<void> {
  return reporter.report(reportOf(requestId, affinityKey, attempt));
}

/** @see spec "Codes" */
export function modelNotFound(model: string): GatewayError {
  // As the client sent it, but not without bound.
  const shown = JSON.stringify(model.length > 100 ? `${model.slice(0, 100)}…` : model);
  return new GatewayError('model_not_found', `The model ${shown} does not exist.`);
}

function noneAvailable(cause?: unknown): GatewayError {
  return new GatewayError('providers_unavailable', 'No provider of the model is available now.', { cause });
}

function exhausted({ retryAt }: PoolExhausted): GatewayError {
  return new GatewayError('pool_exhausted', 'Every account that could serve the request is rate limited.', {
    retryAtMs: retryAt === undefined ? undefined : timestampMs(retryAt),
  });
}
