import { type CallOptions, type Client, Code, ConnectError, createClient } from '@connectrpc/connect';
import { createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node';
import { LimitName } from './gen/gateway/limiter/v2/limit_pb.js';
import { type AdmitResponse, LimiterService } from './gen/gateway/limiter/v2/limiter_service_pb.js';

export interface Check {
  /** The limited key. It belongs to the service that the certificate names. */
  readonly key: string;
  /** Unique per request. A repeated call with the same id takes no second slot. */
  readonly requestId: string;
  /** A missing limit is not applied. */
  readonly limits: { readonly requestsPerMinute?: number; readonly tokensPerDay?: number };
}

export type Decision =
  | {
      readonly kind: 'admitted';
      /** Requests left in the minute; undefined if they are not limited. */
      readonly remainingRequests: number | undefined;
      /** Settle with this day. */
      readonly localDay: string;
    }
  | { readonly kind: 'refused'; readonly limit: string; readonly retryAfterMs: number }
  | Unanswered;

/** No limiter answered in time. Apply a rule of your own: admit, or refuse. */
export interface Unanswered {
  readonly kind: 'unanswered';
  readonly reason: string;
}

/** PEM files: the trusted authority, and this service's certificate and key. */
export interface Certificates {
  readonly ca: Buffer;
  readonly cert: Buffer;
  readonly key: Buffer;
}

export interface LimiterOptions {
  /** "limiter:50051" */
  readonly address: string;
  /** Without certificates the connection is not encrypted. */
  readonly certificates?: Certificates | undefined;
  /** A hanging call is given up after this time, including its one retry. */
  readonly timeoutMs?: number | undefined;
}

/**
 * One connection to the limiter. Create one for the whole process, and dispose of it at the end.
 */
export class Limiter implements Disposable {
  readonly #connection: Http2SessionManager;
  readonly #service: Client<typeof LimiterService>;
  readonly #timeoutMs: number;

  constructor({ address, certificates, timeoutMs = 500 }: LimiterOptions) {
    this.#timeoutMs = timeoutMs;
    const baseUrl = `${certificates === undefined ? 'http' : 'https'}://${address}`;
    this.#connection = new Http2SessionManager(baseUrl, { pingIntervalMs: 10_000 }, certificates);
    this.#service = createClient(LimiterService, createGrpcTransport({ baseUrl, sessionManager: this.#connection }));
  }

  /** @throws ConnectError if the call itself is wrong. */
  admit(check: Check): Promise<Decision> {
    return this.#ask(async (options) => toDecision(await this.#service.admit(check, options)));
  }

  /** Many checks in one message. The decisions are in the same order. */
  async admitAll(checks: Check[]): Promise<Decision[]> {
    const answer = await this.#ask(async (options) => {
      const decided: Decision[] = [];
      for await (const { decisions } of this.#service.admitStream(one({ checks }), options)) {
        decided.push(...decisions.map(toDecision));
      }
      if (decided.length < checks.length) throw new ConnectError('the limiter stops', Code.Unavailable);
      return decided;
    });
    return Array.isArray(answer) ? answer : checks.map(() => answer);
  }

  /**
   * Adds the usage of a request to the day of its admission. Returns the key's usage of that day.
   */
  settle(key: string, requestId: string, localDay: string, tokens: number): Promise<number | Unanswered> {
    const settlement = { key, requestId, localDay, tokens };
    return this.#ask(async (options) => (await this.#service.settle(settlement, options)).usedTokens);
  }

  [Symbol.dispose](): void {
    this.#connection.abort();
  }

  /** Retries once if the connection broke: with the same request id nothing counts twice. */
  async #ask<Answer>(call: (options: CallOptions) => Promise<Answer>): Promise<Answer | Unanswered> {
    const deadlineMs = performance.now() + this.#timeoutMs;
    const askOnce = () => call({ timeoutMs: Math.max(1, deadlineMs - performance.now()) });
    try {
      return await askOnce().catch((thrown) => {
        if (ConnectError.from(thrown).code !== Code.Unavailable) throw thrown;
        return askOnce();
      });
    } catch (thrown) {
      const { code, message } = ConnectError.from(thrown);
      // All other errors are mistakes of the caller: a key that is too long, a certificate without
      // permission.
      if (![Code.Unavailable, Code.DeadlineExceeded, Code.Internal].includes(code)) throw thrown;
      return { kind: 'unanswered', reason: message };
    }
  }
}

function toDecision({ status, refusal }: AdmitResponse): Decision {
  if (refusal === undefined) {
    return { kind: 'admitted', remainingRequests: status?.requests?.remaining, localDay: status?.localDay ?? '' };
  }
  const { limit, retryAfterMs } = refusal;
  return { kind: 'refused', limit: LimitName[limit].toLowerCase(), retryAfterMs };
}

async function* one<T>(message: T): AsyncGenerator<T> {
  yield message;
}
