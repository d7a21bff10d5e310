import type { MessageInitShape } from '@bufbuild/protobuf';
import { AttemptResult, type Lease } from '@gateway/proto/pool/v1/account_pb.js';
import type {
  AcquireRequestSchema,
  AcquireResponse,
  PoolBrokerService,
  ReportRequestSchema,
} from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { CallOptions, Client } from '@gateway/rpc';
import { cancelTimer, monotonicMs, startInterval } from '@gateway/time';
import type { RequestEvents } from '../events.ts';
import type { Patience } from '../patience.ts';

export interface LeasesOptions {
  readonly broker: Pick<Client<typeof PoolBrokerService>, 'acquire' | 'report' | 'renewLeases'>;
  /** The deadline of a call. */
  readonly deadline: Pick<CallOptions, 'timeoutMs'>;
  readonly events: Pick<RequestEvents, 'reportGivenUp' | 'faulted'>;
}

/** The broker's question for a request. */
export type AcquireRequestInit = MessageInitShape<typeof AcquireRequestSchema> & { readonly requestId: string };

/**
 * The result of an attempt. `answerKeys`: additional keys by which later requests will refer to the
 * answer.
 */
export type ReportRequestInit = Required<
  Pick<MessageInitShape<typeof ReportRequestSchema>, 'requestId' | 'affinityKey' | 'attempt'>
> & { answerKeys?: string[] };

/**
 * The leases of running attempts. Each is renewed after a third of its time to live: if a lease
 * expired under a running stream, its account would get one request too many. When an edge dies,
 * its leases are no longer renewed and expire.
 *
 * The result of each attempt is reported to the broker. A lost report would block a place of its
 * account until the lease expires. So it is repeated for a while, until a broker has restarted or
 * another one has taken over. A broker accepts each lease's end only once.
 */
export class Leases implements Disposable {
  readonly #options: LeasesOptions;
  readonly #running = new Set<{ readonly lease: Lease; dueAtMs: number }>();
  /** Reports to repeat, until when, and why they failed. */
  readonly #unreported = new Map<ReportRequestInit, { readonly untilMs: number; readonly fault: unknown }>();
  readonly #timer = startInterval(() => this.#maintain(), maintainMs).unref();
  #isReporting = false;

  constructor(options: LeasesOptions) {
    this.#options = options;
  }

  /**
   * Asks for an account. A late broker may grant a lease to a request that has already been
   * refused. So the call is not cancelled when the request gives up, because the cancellation and
   * the lease could cross on the way; instead a late lease is returned.
   */
  async acquire(request: AcquireRequestInit, patience: Pick<Patience, 'within'>): Promise<AcquireResponse> {
    const { broker, deadline } = this.#options;
    const acquiring = broker.acquire(request, deadline);
    try {
      return await patience.within(() => acquiring);
    } catch (thrown) {
      void this.#giveBack(acquiring, request.requestId);
      throw thrown;
    }
  }

  /** Renews this lease until the result is disposed of. */
  startRenewing(lease: Lease): Disposable {
    const running = { lease, dueAtMs: monotonicMs() + renewalMs(lease) };
    if (lease.ttlSeconds > 0) this.#running.add(running);
    return { [Symbol.dispose]: () => void this.#running.delete(running) };
  }

  /** Resolves when the broker has the report, or when it waits to be repeated. Never throws. */
  async report(report: ReportRequestInit): Promise<void> {
    const { broker, deadline, events } = this.#options;
    const untilMs = monotonicMs() + reportForMs;
    try {
      await broker.report(report, deadline);
    } catch (fault) {
      if (this.#unreported.size >= maxUnreported) return events.reportGivenUp(fault, report.requestId);
      this.#unreported.set(report, { untilMs, fault });
    }
  }

  /** Only a late call has a lease: any other failure is the call's own. */
  async #giveBack(acquiring: Promise<AcquireResponse>, requestId: string): Promise<void> {
    const [answer] = await Promise.allSettled([acquiring]);
    if (answer.status === 'rejected' || answer.value.result.case !== 'lease') return;
    const attempt = { lease: answer.value.result.value, report: { result: AttemptResult.CANCELLED } };
    await this.report({ requestId, affinityKey: '', attempt });
  }

  /** Abandons waiting reports. */
  [Symbol.dispose](): void {
    cancelTimer(this.#timer);
    for (const [{ requestId }, { fault }] of this.#unreported) this.#options.events.reportGivenUp(fault, requestId);
    this.#unreported.clear();
  }

  #maintain(): void {
    const nowMs = monotonicMs();
    const due = [...this.#running].filter(({ dueAtMs }) => dueAtMs <= nowMs);
    for (const running of due) running.dueAtMs = nowMs + renewalMs(running.lease);
    for (let start = 0; start < due.length; start += maxInOneCall) {
      void this.#renew(due.slice(start, start + maxInOneCall).map(({ lease }) => lease));
    }
    void this.#reportAgain();
  }

  async #renew(leases: readonly Lease[]): Promise<void> {
    const { broker, deadline, events } = this.#options;
    const renewals = leases.map(({ leaseId, accountId, pool, model }) => ({ leaseId, accountId, pool, model }));
    // The next round comes well before the leases expire.
    await broker.renewLeases({ renewals }, deadline).catch((fault) => events.faulted('renew', fault));
  }

  /**
   * Sends reports one after the other until one fails: a broker that is away, or has just returned,
   * must not be flooded.
   */
  async #reportAgain(): Promise<void> {
    if (this.#isReporting) return;
    this.#isReporting = true;
    const { broker, deadline, events } = this.#options;
    for (const [report, { untilMs, fault }] of this.#unreported) {
      const isTooLate = monotonicMs() >= untilMs;
      if (isTooLate) events.reportGivenUp(fault, report.requestId);
      const [taken] = isTooLate ? [] : await Promise.allSettled([broker.report(report, deadline)]);
      this.#unreported.delete(report);
      if (taken?.status !== 'rejected') continue;
      // Moved behind the others: a report that no broker accepts must not hold them up.
      this.#unreported.set(report, { untilMs, fault });
      break;
    }
    this.#isReporting = false;
  }
}

/**
 * With the deadline of the last repeat, less than the two minutes for which brokers remember ended
 * leases: an accepted report must not arrive again after that.
 */
const reportForMs = 30_000;

/** A few megabytes. Beyond this number, leases end by expiring. */
const maxUnreported = 10_000;

/** Two renewals may be lost before a lease expires. */
function renewalMs({ ttlSeconds }: Lease): number {
  return (ttlSeconds * 1_000) / 3;
}

const maintainMs = 250;
const maxInOneCall = 500;
