import { setTimeout as sleep } from 'node:timers/promises';
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Lease } from '@gateway/proto/pool/v1/account_pb.js';
import type { PoolBrokerService, ReportRequestSchema } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { Client } from '@gateway/rpc';

export interface LeasesOptions {
  readonly broker: Pick<Client<typeof PoolBrokerService>, 'report' | 'renewLeases'>;
  /** Of one call. */
  readonly timeoutMs: number;
  /** A report that no broker has taken: its place is lost until the lease ends. */
  readonly onGivenUp: (fault: unknown, requestId: string) => void;
  /** Renewals that no broker has taken. The next round comes well before the leases run out. */
  readonly onRenewalFault: (fault: unknown) => void;
  /** The pause before each further try of a report. */
  readonly pausesMs?: readonly number[];
  /** How many reports may wait for a further try at a time. */
  readonly maxWaiting?: number;
}

/** How an attempt ended. `answerKeys`: further keys by which later requests will refer to the answer. */
export type AttemptReport = Required<
  Pick<MessageInitShape<typeof ReportRequestSchema>, 'requestId' | 'affinityKey' | 'attempt'>
> & { answerKeys?: string[] };

/**
 * The leases of running attempts. They are renewed at a third of their time to live: an account whose lease ran out under a running
 * stream would be given to one request too many. Leases of an edge that dies are renewed no more, and run out.
 *
 * How an attempt ended is reported to the broker. A report that is lost would keep its account's place until the lease runs out, so it
 * is tried again a few times, while a broker starts anew or another one takes over. A broker takes each lease's end once only.
 */
export class Leases implements AsyncDisposable {
  readonly #options: LeasesOptions;
  /** By request: each has one lease at a time. */
  readonly #running = new Map<string, { readonly lease: Lease; dueAtMs: number }>();
  #timer: NodeJS.Timeout | undefined;
  readonly #stop = new AbortController();
  readonly #waiting = new Set<Promise<void>>();

  constructor(options: LeasesOptions) {
    this.#options = options;
  }

  /** The request goes on with this lease, in place of the one before. */
  keep(requestId: string, lease: Lease): void {
    if (lease.ttlSeconds <= 0) return;
    this.#running.set(requestId, { lease, dueAtMs: performance.now() + renewalMs(lease) });
    this.#timer ??= setInterval(() => this.#renewDue(), lookMs).unref();
  }

  /** The request goes on no more. */
  end(requestId: string): void {
    this.#running.delete(requestId);
  }

  /** Resolves when the broker has it, or when it has to wait for a further try. Never throws. */
  async report(report: AttemptReport): Promise<void> {
    const { broker, timeoutMs, maxWaiting = defaultMaxWaiting, onGivenUp } = this.#options;
    try {
      await broker.report(report, { timeoutMs });
    } catch (fault) {
      if (this.#waiting.size >= maxWaiting) return onGivenUp(fault, report.requestId);
      const waiting = this.#reportAgain(report, fault).finally(() => this.#waiting.delete(waiting));
      this.#waiting.add(waiting);
    }
  }

  /** Gives up what waits. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    this.#stop.abort();
    await Promise.all(this.#waiting);
  }

  async #reportAgain(report: AttemptReport, firstFault: unknown): Promise<void> {
    const { broker, timeoutMs, pausesMs = defaultPausesMs, onGivenUp } = this.#options;
    const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(longestMs)]);
    let fault = firstFault;
    for (const pauseMs of pausesMs) {
      try {
        // Stretched at random: what was lost together need not come together.
        await sleep(pauseMs * (1 + jitter * Math.random()), undefined, { signal });
        await broker.report(report, { timeoutMs, signal });
        return;
      } catch (thrown) {
        if (signal.aborted) break;
        fault = thrown;
      }
    }
    onGivenUp(fault, report.requestId);
  }

  #renewDue(): void {
    const nowMs = performance.now();
    const due = [...this.#running.values()].filter(({ dueAtMs }) => dueAtMs <= nowMs);
    for (const running of due) running.dueAtMs = nowMs + renewalMs(running.lease);
    for (let start = 0; start < due.length; start += mostInOneCall) {
      void this.#renew(due.slice(start, start + mostInOneCall).map(({ lease }) => lease));
    }
  }

  async #renew(leases: readonly Lease[]): Promise<void> {
    const { broker, timeoutMs, onRenewalFault } = this.#options;
    const renewals = leases.map(({ leaseId, accountId, pool, model }) => ({ leaseId, accountId, pool, model }));
    await broker.renewLeases({ renewals }, { timeoutMs }).catch(onRenewalFault);
  }
}

const defaultPausesMs = [250, 500, 1_000, 2_000, 4_000, 8_000, 16_000];
const jitter = 0.25;

// Brokers remember for two minutes which leases have ended: a report that was taken, though its answer was lost, must not come
// again later than that.
const longestMs = 90_000;

// A few megabytes. Beyond it leases end by themselves.
const defaultMaxWaiting = 10_000;

/** Two renewals may be lost before a lease runs out. */
function renewalMs({ ttlSeconds }: Lease): number {
  return (ttlSeconds * 1_000) / 3;
}

const lookMs = 250;
const mostInOneCall = 500;
