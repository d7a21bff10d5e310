import { type BilledTokens, type Ledger, nothingBilled } from './billing.ts';

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
  /** The faults that struck it: kinds and names of presets. */
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

/** What changes about a request while it is served. */
type Change = Partial<
  Pick<RecordedRequest, 'account' | 'model' | 'stream' | 'status' | 'faults' | 'eventsSent' | 'body' | 'bodyBytes'>
>;

/** The record of one request, written while it is served. */
export class RequestRecord {
  readonly #ledger: Ledger;
  readonly #nowMs: () => number;
  #state: RequestState;
  #lastBytesAtMs: number | undefined;
  #forgotten = false;

  constructor(
    request: Pick<RecordedRequest, 'id' | 'receivedAtMs' | 'account' | 'method' | 'path' | 'query' | 'headers'>,
    ledger: Ledger,
    nowMs: () => number,
  ) {
    this.#ledger = ledger;
    this.#nowMs = nowMs;
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

  get account(): string | null {
    return this.#state.account;
  }

  change(change: Change): void {
    this.#state = { ...this.#state, ...change };
  }

  countEvents(sent: number): void {
    this.change({ eventsSent: this.#state.eventsSent + sent });
  }

  bill(billed: BilledTokens): void {
    const { account, billed: before } = this.#state;
    if (this.#forgotten || account === null) return;
    this.#ledger.rebill(account, before, billed);
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

  forget(): void {
    this.#forgotten = true;
  }
}

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
