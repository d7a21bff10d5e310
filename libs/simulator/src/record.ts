/** One request as the simulator saw it, and how it ended. */
export interface RecordedRequest {
  /** Grows with every request; never used twice. */
  readonly id: number;
  /** What the answer's `x-request-id` or `request-id` header says. */
  readonly requestId: string;
  /** Epoch milliseconds at which the request's headers arrived. */
  readonly receivedAtMs: number;
  /** The credential of the request; null when it had none. */
  readonly account: string | null;
  readonly method: string;
  readonly path: string;
  /** Without the question mark; empty when there is none. */
  readonly query: string;
  /** Credentials are masked. */
  readonly headers: Readonly<Record<string, string>>;
  /** The first bytes of the body, exactly as received. */
  readonly body: Uint8Array;
  /** How many bytes the body had. */
  readonly bodyBytes: number;
  /** The parsed body; undefined when it is no JSON or was not kept whole. */
  readonly json: unknown;
  readonly model: string | null;
  readonly stream: boolean;
  /** The status that was sent; null when none was. */
  readonly status: number | null;
  readonly outcome: RequestOutcome;
  /**
   * Epoch milliseconds of the end: when the last bytes of the body, or the reset, were handed to the connection, so never later
   * than what a client does who has read them. For a cancelled request, when the client was seen to have left. Null while it runs.
   */
  readonly endedAtMs: number | null;
  /** Its injected faults: kinds and names of presets. */
  readonly faults: readonly string[];
  /** Events of the streamed answer that were handed to the connection. */
  readonly eventsSent: number;
  readonly billed: BilledTokens;
}

/**
 * - `completed`: the whole answer was sent.
 * - `refused`: the provider did not accept the request.
 * - `cancelled`: the client left before the end.
 * - `faulted`: a scripted fault took the place of the answer or of a part of it.
 */
export type RequestOutcome = 'running' | 'completed' | 'refused' | 'cancelled' | 'faulted';

/** Tokens that a provider bills. */
export interface BilledTokens {
  /** Input tokens, cached ones and those written to the cache included. */
  readonly inputTokens: number;
  readonly cachedTokens: number;
  /** Output tokens, reasoning included. */
  readonly outputTokens: number;
  readonly reasoningTokens: number;
}

export interface BilledTotal extends BilledTokens {
  /** Requests for which anything was billed. */
  readonly requests: number;
}

export interface BilledReport {
  readonly total: BilledTotal;
  readonly accounts: Readonly<Record<string, BilledTotal>>;
}

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

/** Of each body, and of the bodies of all kept requests together: those of the oldest are dropped first. */
const keptBytesOfBody = 64 * 1024;
const keptBytesOfAll = 64 * 1024 * 1024;

/** A record of the newest requests, and of everything billed. */
export class Recorder {
  readonly #maximumRequests: number;
  readonly #nowMs: () => number;
  /** Oldest first. */
  #requests: RequestRecord[] = [];
  #billed = new Map<string, BilledTotal>();
  #keptBytes = 0;
  #lastId = 0;

  constructor(maximumRequests: number, nowMs: () => number) {
    this.#maximumRequests = maximumRequests;
    this.#nowMs = nowMs;
  }

  begin(request: Pick<RecordedRequest, 'method' | 'path' | 'query' | 'headers' | 'account'>): RequestRecord {
    const billed = this.#billed;
    const record = new RequestRecord(
      { ...request, id: ++this.#lastId, receivedAtMs: this.#nowMs() },
      { nowMs: this.#nowMs, onBilled: (...change) => addBill(billed, ...change) },
    );
    this.#requests.push(record);
    if (this.#requests.length > this.#maximumRequests) this.#dropBody(this.#requests.shift());
    return record;
  }

  keepBody(record: RequestRecord, body: Buffer): void {
    // A copy, so that a small part of a large body does not keep all of it in memory.
    const kept = Uint8Array.from(body.subarray(0, keptBytesOfBody));
    record.change({ body: kept, bodyBytes: body.length });
    if (record.id < (this.#requests[0]?.id ?? Number.POSITIVE_INFINITY)) return;
    this.#keptBytes += kept.length;
    for (const oldest of this.#requests) {
      if (this.#keptBytes <= keptBytesOfAll || oldest === record) return;
      this.#dropBody(oldest);
    }
  }

  requests(filter: RequestFilter = {}): readonly RecordedRequest[] {
    const views = this.#requests.map((record) => record.view).filter((view) => fits(view, filter));
    return filter.limit === undefined ? views : views.slice(Math.max(0, views.length - filter.limit));
  }

  billed(): BilledReport {
    const total = [...this.#billed.values()].reduce((sum, each) => combine(sum, each, 1), nothing);
    return { total, accounts: Object.fromEntries(this.#billed) };
  }

  /** Forgets everything; requests still running go on, unseen. */
  reset(): void {
    this.#requests = [];
    this.#billed = new Map();
    this.#keptBytes = 0;
  }

  #dropBody(record: RequestRecord | undefined): void {
    this.#keptBytes -= record?.view.body.length ?? 0;
    record?.change({ body: new Uint8Array() });
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

/** What changes about a request while it is served. */
type Change = Partial<
  Pick<RecordedRequest, 'account' | 'model' | 'stream' | 'status' | 'faults' | 'eventsSent' | 'body' | 'bodyBytes'>
>;

/** The record of one request, written while it is served. */
export class RequestRecord {
  readonly #nowMs: () => number;
  readonly #onBilled: OnBilled;
  #state: RequestState;
  #lastBytesAtMs: number | undefined;

  constructor(
    request: Pick<RecordedRequest, 'id' | 'receivedAtMs' | 'account' | 'method' | 'path' | 'query' | 'headers'>,
    { nowMs, onBilled }: { readonly nowMs: () => number; readonly onBilled: OnBilled },
  ) {
    this.#nowMs = nowMs;
    this.#onBilled = onBilled;
    this.#state = {
      ...request,
      requestId: `req_${request.id.toString().padStart(16, '0')}`,
      body: new Uint8Array(),
      bodyBytes: 0,
      model: null,
      stream: false,
      status: null,
      outcome: 'running',
      endedAtMs: null,
      faults: [],
      eventsSent: 0,
      billed: nothingBilled,
    };
  }

  /** The request as it is at the moment; a view taken earlier does not change. */
  get view(): RecordedRequest {
    return withJson(this.#state);
  }

  get id(): number {
    return this.#state.id;
  }

  get requestId(): string {
    return this.#state.requestId;
  }

  change(change: Change): void {
    this.#state = { ...this.#state, ...change };
  }

  countEvents(sent: number): void {
    this.change({ eventsSent: this.#state.eventsSent + sent });
  }

  bill(billed: BilledTokens): void {
    const { account, billed: before } = this.#state;
    if (account === null) return;
    this.#onBilled(account, before, billed);
    this.#state = { ...this.#state, billed };
  }

  /** Bytes of the body are about to be handed to the connection, the last ones perhaps. */
  sending(): void {
    this.#lastBytesAtMs = this.#nowMs();
  }

  /** The first end counts. May be called some time after it. */
  end(outcome: Exclude<RequestOutcome, 'running'>): void {
    if (this.#state.outcome !== 'running') return;
    const sentAtMs = outcome === 'cancelled' ? undefined : this.#lastBytesAtMs;
    this.#state = { ...this.#state, outcome, endedAtMs: sentAtMs ?? this.#nowMs() };
  }
}

type OnBilled = (account: string, before: BilledTokens, after: BilledTokens) => void;
type RequestState = Omit<RecordedRequest, 'json'>;

/** Parsing is left to those who ask, so that keeping a record costs no second copy of the body. */
function withJson(request: RequestState): RecordedRequest {
  return {
    ...request,
    get json() {
      return request.body.length === request.bodyBytes ? parseJson(request.body) : undefined;
    },
  };
}

function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString());
  } catch {
    return undefined;
  }
}

const nothingBilled: BilledTokens = { inputTokens: 0, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0 };
const nothing: BilledTotal = { requests: 0, ...nothingBilled };

/** Changes what one request is billed from one amount to another. */
function addBill(accounts: Map<string, BilledTotal>, account: string, before: BilledTokens, after: BilledTokens): void {
  const requests = before === nothingBilled ? 1 : 0;
  const change = combine({ requests, ...after }, { ...nothing, ...before }, -1);
  accounts.set(account, combine(accounts.get(account) ?? nothing, change, 1));
}

function combine(left: BilledTotal, right: BilledTotal, sign: 1 | -1): BilledTotal {
  return {
    requests: left.requests + sign * right.requests,
    inputTokens: left.inputTokens + sign * right.inputTokens,
    cachedTokens: left.cachedTokens + sign * right.cachedTokens,
    outputTokens: left.outputTokens + sign * right.outputTokens,
    reasoningTokens: left.reasoningTokens + sign * right.reasoningTokens,
  };
}
