import type { Lease } from '@gateway/proto/pool/v1/account_pb.js';
import type { PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { Client } from '@gateway/rpc';

export interface LeaseRenewalsOptions {
  readonly broker: Pick<Client<typeof PoolBrokerService>, 'renewLeases'>;
  readonly timeoutMs: number;
  /** Renewals that no broker has taken. The next round comes well before the leases run out. */
  readonly onFault: (fault: unknown) => void;
}

/**
 * Renews the leases of requests that go on, at a third of their time to live: an account whose lease ran out under a running stream
 * would be given to one request too many. Leases of an edge that dies are renewed no more, and run out.
 */
export class LeaseRenewals implements Disposable {
  readonly #options: LeaseRenewalsOptions;
  /** By request: each has one lease at a time. */
  readonly #leases = new Map<string, RunningLease>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: LeaseRenewalsOptions) {
    this.#options = options;
  }

  /** The request goes on with this lease, in place of the one before. */
  keep(requestId: string, lease: Lease): void {
    if (lease.ttlSeconds <= 0) return;
    const everyMs = (lease.ttlSeconds * 1_000) / renewalsInALife;
    this.#leases.set(requestId, { lease, everyMs, dueAtMs: performance.now() + everyMs });
    this.#timer ??= setInterval(() => this.#renewDue(), lookMs).unref();
  }

  /** The request goes on no more. */
  end(requestId: string): void {
    this.#leases.delete(requestId);
    if (this.#leases.size === 0) this[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#leases.clear();
  }

  #renewDue(): void {
    const nowMs = performance.now();
    const due = this.#leases
      .values()
      .filter(({ dueAtMs }) => dueAtMs <= nowMs)
      .toArray();
    for (const running of due) running.dueAtMs = nowMs + running.everyMs;
    for (let start = 0; start < due.length; start += mostInOneCall) {
      void this.#renew(due.slice(start, start + mostInOneCall));
    }
  }

  async #renew(running: readonly RunningLease[]): Promise<void> {
    const { broker, timeoutMs, onFault } = this.#options;
    const renewals = running.map(({ lease: { leaseId, accountId, pool, model } }) => {
      return { leaseId, accountId, pool, model };
    });
    await broker.renewLeases({ renewals }, { timeoutMs }).catch(onFault);
  }
}

interface RunningLease {
  readonly lease: Lease;
  readonly everyMs: number;
  dueAtMs: number;
}

/** Two renewals may be lost before a lease runs out. */
const renewalsInALife = 3;
const lookMs = 250;
const mostInOneCall = 500;
