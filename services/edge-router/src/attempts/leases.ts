import type { MessageInitShape } from '@bufbuild/protobuf';
import { AttemptResult, type Lease } from '@gateway/proto/pool/v1/account_pb.js';
import type {
  AcquireRequestSchema,
  AcquireResponse,
  PoolBrokerService,
  ReportRequestSchema,
} from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { type Client, RpcError, UnaryCall } from '@gateway/rpc';
import type { RequestEvents } from '../events.ts';

export interface LeasesOptions {
  readonly broker: Pick<Client<typeof PoolBrokerService>, 'acquire' | 'report' | 'renewLeases'>;
  /** Of one call. */
  readonly timeoutMs: number;
  readonly events: Pick<RequestEvents, 'reportGivenUp' | 'faulted'>;
}

/** What a broker is asked for a request. */
export type AcquireRequestInit = MessageInitShape<typeof AcquireRequestSchema> & { readonly requestId: string };

/**
 * How an attempt ended. `answerKeys`: further keys by which later requests will refer to the
 * answer.
 */
export type ReportRequestInit = Required<
  Pick<MessageInitShape<typeof ReportRequestSchema>, 'requestId' | 'affinityKey' | 'attempt'>
> & { answerKeys?: string[] };

/**
 * The leases of running attempts. They are renewed at a third of their time to live: an account
 * whose lease ran out under a running stream would be given to one request too many. Leases of an
 * edge that dies are renewed no more, and run out.
 *
 * How an attempt ended is reported to the broker. A report that is lost would keep its account's
 * place until the lease runs out, so it is tried again for a while, until a broker has started anew
 * or another one taken over. A broker takes each lease's end once only.
 */
export class Leases implements Disposable {
  readonly #options: LeasesOptions;
  /** By request: each has one lease at a time. */
  readonly #running = new Map<string, { readonly lease: Lease; dueAtMs: number }>();
  /** Reports to be tried again, until when, and why. */
  readonly #unreported = new Map<ReportRequestInit, { readonly untilMs: number; readonly fault: unknown }>();
  readonly #timer = setInterval(() => this.#tend(), tendMs).unref();
  #isReporting = false;

  constructor(options: LeasesOptions) {
    this.#options = options;
  }

  /**
   * Asks for an account. A broker that is late may lease one to a request that has been refused by
   * then: the call is not cancelled at the deadline, as the lease and the word of that could pass
   * each other on the way, but its lease is given back.
   */
  async acquire(request: AcquireRequestInit): Promise<AcquireResponse> {
    const { broker, timeoutMs } = this.#options;
    const acquiring = broker.acquire(request, { timeoutMs: timeoutMs + lateForMs });
    try {
      return await new UnaryCall<AcquireResponse>({ timeoutMs }).run(() => acquiring);
    } catch (thrown) {
      const isLate = thrown instanceof RpcError && thrown.status === 'deadline_exceeded';
      if (isLate) void this.#giveBack(acquiring, request.requestId);
      throw thrown;
    }
  }

  /** The request goes on with this lease, in place of the one before. */
  keep(requestId: string, lease: Lease): void {
    if (lease.ttlSeconds > 0) this.#running.set(requestId, { lease, dueAtMs: performance.now() + renewalMs(lease) });
  }

  /** The request goes on no more. */
  end(requestId: string): void {
    this.#running.delete(requestId);
  }

  /** Resolves when the broker has it, or when it has to wait for a further try. Never throws. */
  async report(report: ReportRequestInit): Promise<void> {
    const { broker, timeoutMs, events } = this.#options;
    try {
      await broker.report(report, { timeoutMs });
    } catch (fault) {
      if (this.#unreported.size >= maxUnreported) return events.reportGivenUp(fault, report.requestId);
      this.#unreported.set(report, { untilMs: performance.now() + reportForMs, fault });
    }
  }

  async #giveBack(acquiring: Promise<AcquireResponse>, requestId: string): Promise<void> {
    const [answer] = await Promise.allSettled([acquiring]);
    if (answer.status === 'rejected' || answer.value.result.case !== 'lease') return;
    const attempt = { lease: answer.value.result.value, report: { result: AttemptResult.CANCELLED } };
    await this.report({ requestId, affinityKey: '', attempt });
  }

  /** Gives up what waits. */
  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    for (const [{ requestId }, { fault }] of this.#unreported) this.#options.events.reportGivenUp(fault, requestId);
    this.#unreported.clear();
  }

  #tend(): void {
    const nowMs = performance.now();
    const due = [...this.#running.values()].filter(({ dueAtMs }) => dueAtMs <= nowMs);
    for (const running of due) running.dueAtMs = nowMs + renewalMs(running.lease);
    for (let start = 0; start < due.length; start += mostInOneCall) {
      void this.#renew(due.slice(start, start + mostInOneCall).map(({ lease }) => lease));
    }
    void this.#reportAgain();
  }

  async #renew(leases: readonly Lease[]): Promise<void> {
    const { broker, timeoutMs, events } = this.#options;
    const renewals = leases.map(({ leaseId, accountId, pool, model }) => ({ leaseId, accountId, pool, model }));
    // The next round comes well before the leases run out.
    await broker.renewLeases({ renewals }, { timeoutMs }).catch((fault) => events.faulted('renewal', fault));
  }

  /**
   * One after the other, up to the first that is not taken: a broker that is away, or just back, is
   * not flooded.
   */
  async #reportAgain(): Promise<void> {
    if (this.#isReporting) return;
    this.#isReporting = true;
    const { broker, timeoutMs, events } = this.#options;
    for (const [report, { untilMs, fault }] of this.#unreported) {
      const isTooLate = performance.now() >= untilMs;
      if (isTooLate) events.reportGivenUp(fault, report.requestId);
      const [taken] = isTooLate ? [] : await Promise.allSettled([broker.report(report, { timeoutMs })]);
      this.#unreported.delete(report);
      if (taken?.status !== 'rejected') continue;
      // Behind the others: one that no broker can take must not keep them waiting.
      this.#unreported.set(report, { untilMs, fault });
      break;
    }
    this.#isReporting = false;
  }
}

/** A broker that stands still for longer finds the calls cancelled when it goes on. */
const lateForMs = 10_000;

/**
 * Less than the two minutes for which brokers remember what has ended: a report that was taken must
 * not come again later.
 */
const reportForMs = 30_000;

/** A few megabytes. Beyond it leases end by themselves. */
const maxUnreported = 10_000;

/** Two renewals may be lost before a lease runs out. */
function renewalMs({ ttlSeconds }: Lease): number {
  return (ttlSeconds * 1_000) / 3;
}

const tendMs = 250;
const mostInOneCall = 500;
