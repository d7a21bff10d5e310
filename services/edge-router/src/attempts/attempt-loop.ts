import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { GatewayError } from '@gateway/errors';
import type { AdapterService, Dialect, Usage } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import {
  type AttemptOutcomeSchema,
  AttemptResult,
  type AttemptSchema,
  type Lease,
  type ProviderFormat,
} from '@gateway/proto/pool/v1/account_pb.js';
import type {
  AcquireResponse,
  PoolBrokerService,
  PoolExhausted,
} from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { type Client, RpcError } from '@gateway/rpc';
import { type AnswerFrames, executeAttempt } from './execute-attempt.ts';

export interface AttemptPlan {
  readonly requestId: string;
  /** A class id or a provider's model id. */
  readonly model: string;
  /** Formats that the endpoint can speak, the adapters' clients beside them. */
  readonly adapters: ReadonlyMap<ProviderFormat, Client<typeof AdapterService>>;
  readonly dialect: Dialect;
  readonly affinityKey: string;
  readonly allowCandidateFailover: boolean;
  readonly body: Uint8Array;
  readonly forwardHeaders: Readonly<Record<string, string>>;
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal;
  /** Told of every lease just before it is used. */
  readonly onLease: (lease: Lease) => void;
  /** Told of usage that comes before the answer has begun. */
  readonly onUsage: (usage: Usage) => void;
}

export interface Answering {
  readonly lease: Lease;
  readonly frames: AnswerFrames;
}

type Attempt = MessageInitShape<typeof AttemptSchema>;
type Outcome = MessageInitShape<typeof AttemptOutcomeSchema>;

/** No request makes more attempts than this, whatever the broker offers. */
const attemptCeiling = 50;

/**
 * The only loop over attempts: asks the broker for an account, tries it, and goes on until an answer has begun or the
 * broker has nothing left. The broker decides order and number; after the first content there is no other attempt.
 * Throws `model_not_found`, `pool_exhausted`, `providers_unavailable`, or what the provider refused.
 */
export async function attemptUntilAnswering(
  plan: AttemptPlan,
  broker: Client<typeof PoolBrokerService>,
  rpcTimeoutMs: number,
): Promise<Answering> {
  const attempts: Attempt[] = [];
  const formats = new Set(plan.adapters.keys());
  while (attempts.length < attemptCeiling && formats.size > 0) {
    const lease = await acquire(plan, { attempts, formats }, broker, rpcTimeoutMs);
    const adapter = plan.adapters.get(lease.format);
    if (adapter === undefined) throw new Error(`the broker leased format ${lease.format}, which was not asked for`);
    plan.onLease(lease);
    const settled = { outcome: { result: AttemptResult.CANCELLED } satisfies Outcome as Outcome };
    try {
      const start = await executeAttempt({ ...plan, adapter, head: headOf(plan, lease) });
      if (start.kind === 'answering') return { lease, frames: start.frames };
      if (start.kind === 'adapter_away') formats.delete(lease.format);
      else settled.outcome = start.outcome;
      if (start.kind === 'failed' && start.outcome.result === AttemptResult.REJECTED) throw start.error;
    } catch (thrown) {
      await freeLease(plan, { lease, outcome: settled.outcome }, broker, rpcTimeoutMs);
      throw thrown;
    }
    attempts.push({ lease, outcome: settled.outcome });
  }
  throw await noneLeft(plan, attempts, broker, rpcTimeoutMs);
}

interface SoFar {
  readonly attempts: readonly Attempt[];
  readonly formats: ReadonlySet<ProviderFormat>;
}

async function acquire(
  plan: AttemptPlan,
  { attempts, formats }: SoFar,
  broker: Client<typeof PoolBrokerService>,
  timeoutMs: number,
): Promise<Lease> {
  const { requestId, model, affinityKey, allowCandidateFailover, signal } = plan;
  try {
    const answer = await broker.acquire(
      { requestId, model, affinityKey, allowCandidateFailover, formats: [...formats], attempts: [...attempts] },
      { timeoutMs, signal },
    );
    return leaseOrThrow(answer, model, attempts.length);
  } catch (thrown) {
    if (!(thrown instanceof RpcError) || signal.aborted) throw thrown;
    throw noneAvailable(thrown);
  }
}

function leaseOrThrow({ result }: AcquireResponse, model: string, attemptsMade: number): Lease {
  if (result.case === 'lease') return result.value;
  if (result.case === 'exhausted') throw exhausted(result.value);
  // A model that the first attempt knew has not become unknown because an adapter went away since.
  if (result.case === 'unknownModel' && attemptsMade === 0) {
    throw new GatewayError('model_not_found', `The model ${printable(model)} does not exist.`);
  }
  throw noneAvailable();
}

function noneAvailable(cause?: unknown): GatewayError {
  return new GatewayError('providers_unavailable', 'No provider of the model is available now.', { cause });
}

function exhausted({ retryAt }: PoolExhausted): GatewayError {
  return new GatewayError('pool_exhausted', 'Every account that could serve the request is rate limited.', {
    retryAtMs: retryAt === undefined ? undefined : timestampMs(retryAt),
  });
}

/** Tells the broker of the last attempt when nothing more will be acquired with it. */
async function noneLeft(
  plan: AttemptPlan,
  attempts: readonly Attempt[],
  broker: Client<typeof PoolBrokerService>,
  timeoutMs: number,
) {
  const last = attempts.at(-1);
  if (last !== undefined) await freeLease(plan, last, broker, timeoutMs);
  return noneAvailable();
}

/** A lease that is not freed runs out by itself, so a broker that is away does no harm here. */
async function freeLease(
  { requestId, affinityKey }: AttemptPlan,
  attempt: Attempt,
  broker: Client<typeof PoolBrokerService>,
  timeoutMs: number,
): Promise<void> {
  await broker.report({ requestId, attempt, affinityKey }, { timeoutMs }).catch(() => undefined);
}

function headOf({ requestId, dialect, forwardHeaders, affinityKey }: AttemptPlan, lease: Lease) {
  return { requestId, lease, dialect, forwardHeaders: { ...forwardHeaders }, affinityKey };
}

/** A model name as clients sent it, fit for a message. */
function printable(model: string): string {
  return JSON.stringify(model.length > 100 ? `${model.slice(0, 100)}…` : model);
}
