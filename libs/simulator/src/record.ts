import { type BilledReport, Ledger } from './billing.ts';
import { type RecordedRequest, type RequestOutcome, RequestRecord } from './request-record.ts';

export interface RequestFilter {
  readonly account?: string | undefined;
  readonly path?: string | undefined;
  readonly model?: string | undefined;
  readonly outcome?: RequestOutcome | undefined;
  /** Only requests with a greater id. */
  readonly afterId?: number | undefined;
  /** Only so many, the newest; by default all. */
  readonly limit?: number | undefined;
}

export interface RecordLimits {
  readonly maximumRequests: number;
  /** Per request. */
  readonly maximumBodyBytes: number;
  /** Of all kept requests together; the bodies of the oldest are dropped first. */
  readonly maximumTotalBodyBytes: number;
}

/** A record of the newest requests, and of everything billed. Its memory is bounded by its limits. */
export class Recorder {
  readonly #limits: RecordLimits;
  readonly #nowMs: () => number;
  readonly #ledger = new Ledger();
  /** Oldest first. */
  #requests = new Map<number, RequestRecord>();
  /** Those whose bodies are kept, oldest first. */
  readonly #withBody = new Set<RequestRecord>();
  #keptBytes = 0;
  #lastId = 0;

  constructor(limits: RecordLimits, nowMs: () => number) {
    this.#limits = limits;
    this.#nowMs = nowMs;
  }

  begin(request: Pick<RecordedRequest, 'method' | 'path' | 'query' | 'headers' | 'account'>): RequestRecord {
    const id = ++this.#lastId;
    const record = new RequestRecord({ ...request, id, receivedAtMs: this.#nowMs() }, this.#ledger, this.#nowMs);
    this.#requests.set(id, record);
    if (this.#requests.size > this.#limits.maximumRequests) this.#dropOldest();
    return record;
  }

  keepBody(record: RequestRecord, body: Buffer): void {
    // A copy, so that a small part of a large body does not hold all of it.
    const kept = Uint8Array.from(body.subarray(0, this.#limits.maximumBodyBytes));
    record.change({ body: kept, bodyBytes: body.length });
    if (!this.#requests.has(record.id)) return;
    this.#withBody.add(record);
    this.#keptBytes += kept.length;
    for (const oldest of this.#withBody) {
      if (this.#keptBytes <= this.#limits.maximumTotalBodyBytes || oldest === record) return;
      this.#dropBody(oldest);
    }
  }

  requests(filter: RequestFilter = {}): readonly RecordedRequest[] {
    const views = [...this.#requests.values()].map((record) => record.view).filter((view) => fits(view, filter));
    return filter.limit === undefined ? views : views.slice(Math.max(0, views.length - filter.limit));
  }

  billed(): BilledReport {
    return this.#ledger.report();
  }

  /** Forgets everything; requests still running go on, unseen. */
  reset(): void {
    for (const record of this.#requests.values()) record.forget();
    this.#requests = new Map();
    this.#withBody.clear();
    this.#keptBytes = 0;
    this.#ledger.reset();
  }

  #dropOldest(): void {
    for (const [id, record] of this.#requests) {
      this.#dropBody(record);
      this.#requests.delete(id);
      return;
    }
  }

  #dropBody(record: RequestRecord): void {
    if (!this.#withBody.delete(record)) return;
    this.#keptBytes -= record.view.body.length;
    record.change({ body: new Uint8Array() });
  }
}

function fits(request: RecordedRequest, filter: RequestFilter): boolean {
  return (
    (filter.account === undefined || request.account === filter.account) &&
    (filter.path === undefined || request.path === filter.path) &&
    (filter.model === undefined || request.model === filter.model) &&
    (filter.outcome === undefined || request.outcome === filter.outcome) &&
    (filter.afterId === undefined || request.id > filter.afterId)
  );
}
