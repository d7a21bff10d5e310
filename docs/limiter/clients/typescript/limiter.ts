import { timestampDate } from '@bufbuild/protobuf/wkt';
import { type CallOptions, type Client, Code, ConnectError, createClient } from '@connectrpc/connect';
import { createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node';
import { LimitName } from './gen/gateway/limiter/v1/limit_pb.js';
import { type AdmitResponse, LimiterService } from './gen/gateway/limiter/v1/limiter_service_pb.js';

export interface Check {
  /** What is limited. It belongs to the service that the certificate names. */
  readonly key: string;
  /** Unique per request. A call that is repeated with it takes no second slot. */
  readonly requestId: string;
  /** A limit that is left out is not held. */
  readonly limits: { readonly requestsPerMinute?: number; readonly tokensPerDay?: bigint };
}

export type Decision =
  | {
      readonly kind: 'admitted';
      /** Requests left in the minute; undefined when they are not limited. */
      readonly remainingRequests: number | undefined;
      /** Settle with this day. */
      readonly localDay: string;
    }
  | { readonly kind: 'refused'; readonly limit: string; readonly retryAt: Date | undefined }
  | Unanswered;

/** No limiter answered in time. Go by a rule of your own: admit, or refuse. */
export interface Unanswered {
  readonly kind: 'unanswered';
  readonly reason: string;
}

/** In PEM: whose certificates are believed, and who this service is. */
export interface Certificates {
  readonly ca: Buffer;
  readonly cert: Buffer;
  readonly key: Buffer;
}

export interface LimiterOptions {
  /** "limiter:50051" */
  readonly address: string;
  /** Without them the connection is not encrypted. */
  readonly certificates?: Certificates | undefined;
  /** A call that hangs is given up after this time, its one repetition included. */
  readonly timeoutMs?: number | undefined;
}

/** One connection to the limiter. Make one for the whole process, and dispose of it at the end. */
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

  /** @throws ConnectError when the call itself is wrong. */
  admit(check: Check): Promise<Decision> {
    return this.#ask(async (options) => toDecision(await this.#service.admit(check, options)));
  }

  /** Many checks in one message. The decisions are in their order. */
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

  /** Adds what a request used to the day of its admission. Answers what the key used on that day. */
  settle(key: string, requestId: string, localDay: string, tokens: bigint): Promise<bigint | Unanswered> {
    const settlement = { key, requestId, localDay, tokens };
    return this.#ask(async (options) => (await this.#service.settle(settlement, options)).usedTokens);
  }

  [Symbol.dispose](): void {
    this.#connection.abort();
  }

  /** Asks a second time when the connection broke: with the same request id nothing counts twice. */
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
      // Anything else is a mistake of the caller: a key that is too long, a certificate that may not ask.
      if (![Code.Unavailable, Code.DeadlineExceeded, Code.Internal].includes(code)) throw thrown;
      return { kind: 'unanswered', reason: message };
    }
  }
}

function toDecision({ status, refusal }: AdmitResponse): Decision {
  if (refusal === undefined) {
    return { kind: 'admitted', remainingRequests: status?.requests?.remaining, localDay: status?.localDay ?? '' };
  }
  const retryAt = refusal.retryAt === undefined ? undefined : timestampDate(refusal.retryAt);
  return { kind: 'refused', limit: LimitName[refusal.limit].toLowerCase(), retryAt };
}

async function* one<T>(message: T): AsyncGenerator<T> {
  yield message;
}
