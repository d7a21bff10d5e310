import { AttemptResult, type Lease } from '@gateway/proto/pool/v1/account_pb.js';
import type { PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { Client } from '@gateway/rpc';
import type { Report, SimulatedAccount } from './simulated-account.ts';
import type { VirtualTime } from './virtual-time.ts';

export interface ClientRequest {
  readonly id: number;
  readonly model: string;
  readonly affinityKey: string;
  /** Set for a request that is repeated at the time it was given. */
  readonly cameBack?: boolean;
}

/** Observes a simulation. */
export interface Observer {
  sent(accountId: string): void;
  answered(accountId: string, report: Report): void;
  served(request: ClientRequest, accountId: string): void;
  /** `retryAtMs`: when the client should retry; undefined when it was given no time. */
  refused(request: ClientRequest, refusal: Refusal): void;
}

export interface Refusal {
  readonly kind: 'exhausted' | 'unavailable';
  readonly retryAtMs: number | undefined;
  readonly errors: number;
}

export interface World {
  readonly time: VirtualTime;
  readonly pools: Client<typeof PoolBrokerService>;
  readonly accounts: ReadonlyMap<string, SimulatedAccount>;
  readonly random: () => number;
  readonly observer: Observer;
  /** The average duration of an answer. */
  readonly answerMs: number;
}

interface Attempt {
  readonly lease: Lease;
  readonly report: Report;
}

/**
 * Moves one request from account to account, as an edge does, and repeats it once if it was given a
 * time.
 */
export async function sendRequest(
  world: World,
  request: ClientRequest,
  attempts: readonly Attempt[] = [],
): Promise<void> {
  const { time, pools, observer } = world;
  const { model, affinityKey } = request;
  const { result } = await pools.acquire({
    model,
    affinityKey,
    attempts: [...attempts],
    allowCandidateFailover: true,
  });
  if (result.case === 'lease') return attemptWith(world, request, { attempts, lease: result.value });
  const kind = result.case === 'exhausted' ? 'exhausted' : 'unavailable';
  const resetAtMs = result.case === 'exhausted' ? result.value.retryAtMs : undefined;
  const retryAtMs = resetAtMs && toRetryAfter(resetAtMs, time.nowMs);
  observer.refused(request, { kind, retryAtMs, errors: attempts.filter(isError).length });
  if (retryAtMs === undefined || request.cameBack === true) return;
  time.at(retryAtMs, () => sendRequest(world, { ...request, cameBack: true }));
}

interface NextAttempt {
  readonly attempts: readonly Attempt[];
  readonly lease: Lease;
}

async function attemptWith(world: World, request: ClientRequest, { attempts, lease }: NextAttempt): Promise<void> {
  const { time, accounts, random, observer } = world;
  const account = accounts.get(lease.accountId);
  if (account === undefined) throw new Error(`there is no account ${lease.accountId}`);
  observer.sent(account.id);
  const report = account.answer(time.nowMs, random());
  const failed = report.result !== AttemptResult.SUCCEEDED;
  const tookMs = failed ? 100 + 200 * random() : -Math.log(1 - random()) * world.answerMs;
  time.after(tookMs, async () => {
    observer.answered(account.id, report);
    if (failed) return sendRequest(world, request, [...attempts, { lease, report }]);
    observer.served(request, account.id);
    await world.pools.report({ attempt: { lease, report }, affinityKey: request.affinityKey });
  });
}

const errors: readonly (AttemptResult | undefined)[] = [
  AttemptResult.OVERLOADED,
  AttemptResult.SERVER_ERROR,
  AttemptResult.NETWORK_ERROR,
  AttemptResult.TIMEOUT,
];

function isError({ report }: Attempt): boolean {
  return errors.includes(report.result);
}

/** `retry-after` is a number of whole seconds, at least one. */
function toRetryAfter(retryAtMs: number, nowMs: number): number {
  return nowMs + Math.max(1, Math.ceil((retryAtMs - nowMs) / 1_000)) * 1_000;
}
