import { parseJson } from '@gateway/json';
import { epochMs } from '@gateway/time';
import { z } from 'zod';

/** One request as the simulator received it, and how it ended. */
export interface RecordedRequest {
  /** Grows with every request; never used twice. */
  readonly id: number;
  /** The value of the answer's `x-request-id` or `request-id` header. */
  readonly requestId: string;
  /** Epoch milliseconds at which the request's headers arrived. */
  readonly receivedAtMs: number;
  /** The credential of the request; null if it has none. */
  readonly account: string | null;
  readonly method: string;
  readonly path: string;
  /** Without the question mark; empty when there is none. */
  readonly query: string;
  /** Credentials are masked. */
  readonly headers: Readonly<Record<string, string>>;
  /** The first bytes of the body, exactly as received. */
  readonly body: Uint8Array;
  /** The length of the body in bytes. */
  readonly bodyBytes: number;
  /** The parsed body; undefined when it is not JSON or was not kept whole. */
  readonly json: unknown;
  readonly model: string | null;
  readonly stream: boolean;
  /** The status that was sent; null if none was. */
  readonly status: number | null;
  readonly outcome: RequestOutcome;
  /**
   * Epoch milliseconds at which the last bytes of the body, or the reset, were handed to the
   * connection, so never later than the reaction of a client that has read them. For a cancelled
   * request, when the client's disconnect was noticed. Null while the request runs.
   */
  readonly endedAtMs: number | null;
  /** The injected faults: kinds and names of presets. */
  readonly faults: readonly string[];
  /** The number of events of a streamed answer that were handed to the connection. */
  readonly eventsSent: number;
  readonly billed: BilledTokens;
}

/**
 * - `completed`: the whole answer was sent.
 * - `refused`: the provider did not accept the request.
 * - `cancelled`: the client disconnected before the end.
 * - `faulted`: a scripted fault replaced the answer or a part of it.
 */
const outcomes = ['running', 'completed', 'refused', 'cancelled', 'faulted'] as const;
type RequestOutcome = (typeof outcomes)[number];

/** Tokens that a provider bills. */
export interface BilledTokens {
  /** Input tokens, including cached ones and those written to the cache. */
  readonly inputTokens: number;
  readonly cachedTokens: number;
  /** Output tokens, including reasoning. */
  readonly outputTokens: number;
  readonly reasoningTokens: number;
}

export interface BilledTotal extends BilledTokens {
  /** The number of requests for which anything was billed. */
  readonly requests: number;
}

export interface BilledReport {
  readonly total: BilledTotal;
  readonly accounts: Readonly<Record<string, BilledTotal>>;
}

export const requestFilterSchema = z.strictObject({
  account: z.string().optional(),
  path: z.string().optional(),
  model: z.string().optional(),
  outcome: z.enum(outcomes).optional(),
  /** Only requests with a greater id. */
  afterId: z.coerce.number().optional(),
  /** Only this many requests, the newest; by default all. */
  limit: z.coerce.number().int().min(0).optional(),
});

export type RequestFilter = z.infer<typeof requestFilterSchema>;

/**
 * The limit for each body, and the limit for the bodies of all kept requests together, beyond which
 * the oldest are dropped first.
 */
const keptBytesOfBody = 64 * 1024;
const keptBytesOfAll = 64 * 1024 * 1024;

/** Records the newest requests, and everything billed. */
export class Recorder {
  readonly #maximumRequests: number;
  /** Oldest first. */
  #requests: RequestRecord[] = [];
  #billed: Bills = new Map();
  #keptBytes = 0;
  #lastId = 0;

  constructor(maximumRequests: number) {
    this.#maximumRequests = maximumRequests;
  }

  begin(request: ReceivedRequest): RequestRecord {
    const record = new RequestRecord(++this.#lastId, request, this.#billed);
    this.#requests.push(record);
    if (this.#requests.length > this.#maximumRequests) this.#dropBody(this.#requests.shift());
    return record;
  }

  keepBody({ state }: RequestRecord, body: Buffer): void {
    // A copy, so that a small part does not keep all of a large body in memory.
    state.body = Uint8Array.from(body.subarray(0, keptBytesOfBody));
    state.bodyBytes = body.length;
    if (state.id < (this.#requests[0]?.state.id ?? Number.POSITIVE_INFINITY)) return;
    this.#keptBytes += state.body.length;
    for (const oldest of this.#requests) {
      if (this.#keptBytes <= keptBytesOfAll || oldest.state === state) return;
      this.#dropBody(oldest);
    }
  }

  requests(filter: RequestFilter = {}): readonly RecordedRequest[] {
    const { limit = Number.POSITIVE_INFINITY, afterId = 0, ...wanted } = filter;
    const fitting = this.#requests.filter(
      ({ state }) =>
        state.id > afterId && filteredMembers.every((name) => (wanted[name] ?? state[name]) === state[name]),
    );
    return fitting.slice(Math.max(0, fitting.length - limit)).map((record) => record.view);
  }

  billed(): BilledReport {
    const total = emptyBill();
    for (const bill of this.#billed.values()) {
      total.requests += bill.requests;
      for (const kind of tokenKinds) total[kind] += bill[kind];
    }
    return { total, accounts: structuredClone(Object.fromEntries(this.#billed)) };
  }

  /** Forgets everything; running requests continue without a record. */
  reset(): void {
    this.#requests = [];
    this.#billed = new Map();
    this.#keptBytes = 0;
  }

  #dropBody(record: RequestRecord | undefined): void {
    if (record === undefined) return;
    this.#keptBytes -= record.state.body.length;
    record.state.body = new Uint8Array();
  }
}

const filteredMembers = ['account', 'path', 'model', 'outcome'] as const;

type ReceivedRequest = Pick<RecordedRequest, 'method' | 'path' | 'query' | 'headers' | 'account'>;

/** The record of one request, written while it is served. */
export class RequestRecord {
  readonly state: { -readonly [member in Exclude<keyof RecordedRequest, 'json'>]: RecordedRequest[member] };
  readonly #bills: Bills;
  #lastBytesAtMs: number | undefined;

  constructor(id: number, request: ReceivedRequest, bills: Bills) {
    this.#bills = bills;
    this.state = {
      ...request,
      id,
      receivedAtMs: epochMs(),
      requestId: `req_${id.toString().padStart(16, '0')}`,
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

  /**
   * The request's current state; a view taken earlier does not change. The body is parsed on
   * demand.
   */
  get view(): RecordedRequest {
    const state = { ...this.state };
    return {
      ...state,
      get json() {
        return state.body.length === state.bodyBytes ? parseJson(Buffer.from(state.body).toString()) : undefined;
      },
    };
  }

  /** Sets the total that the request is billed so far. */
  bill(billed: BilledTokens): void {
    const { account, billed: before } = this.state;
    if (account === null) return;
    const bill = this.#bills.get(account) ?? emptyBill();
    this.#bills.set(account, bill);
    if (before === nothingBilled) bill.requests += 1;
    for (const kind of tokenKinds) bill[kind] += billed[kind] - before[kind];
    this.state.billed = billed;
  }

  /** Called before bytes of the body, possibly the last ones, are handed to the connection. */
  sending(): void {
    this.#lastBytesAtMs = epochMs();
  }

  /** The first call counts. It may come some time after the end. */
  end(outcome: Exclude<RequestOutcome, 'running'>): void {
    if (this.state.outcome !== 'running') return;
    const sentAtMs = outcome === 'cancelled' ? undefined : this.#lastBytesAtMs;
    this.state.outcome = outcome;
    this.state.endedAtMs = sentAtMs ?? epochMs();
  }
}

/** By account. */
type Bills = Map<string, { -readonly [count in keyof BilledTotal]: number }>;

const tokenKinds = ['inputTokens', 'cachedTokens', 'outputTokens', 'reasoningTokens'] as const;
const nothingBilled: BilledTokens = { inputTokens: 0, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0 };

function emptyBill() {
  return { requests: 0, ...nothingBilled };
}
