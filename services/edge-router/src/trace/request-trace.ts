import { performance } from 'node:perf_hooks';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import type { GatewayErrorCode } from '@gateway/errors';
import { AttemptGivenUp, NoAccountCause } from '@gateway/proto/edge/v1/request_trace_service_pb.js';
import type { AcquireResponse } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { AttemptTrace } from './attempt-trace.ts';
import { type Moment, momentOf, msOf, never } from './moment.ts';
import type {
  AttemptOutcome,
  BookedUsage,
  NoAccountStory,
  RequestEnd,
  RequestMoments,
  RequestStory,
} from './request-story.ts';

export interface TracedRequest {
  readonly requestId: string;
  /** Absent: as empty. */
  readonly clientRequestId?: string;
  readonly endpoint: string;
  readonly receivedAtMs: number;
}

/**
 * Tells the story of one request while it goes on. Is called a few times for each request, and never for an event. Lives on for as
 * long as the request is remembered: it keeps what is told, in as few objects as can be.
 */
export class RequestTrace implements RequestStory {
  readonly requestId: string;
  readonly clientRequestId: string;
  readonly endpoint: string;
  readonly receivedAtMs: number;
  tokenId = '';
  model = '';
  attempts: readonly AttemptTrace[] = none;
  noAccount: NoAccountStory | undefined;
  #latest: AttemptTrace | undefined;
  readonly #monotonicMs: () => number;
  readonly #startedAt: number;
  #admitted: Moment = never;
  #bodyRead: Moment = never;
  #asked: Moment = 0;
  #ended: Moment = never;
  #usage: BookedUsage | undefined;
  #status = 0;
  #errorCode: GatewayErrorCode | undefined;
  #clientLeft = false;
  #waitedForRoomMs = 0;

  /** @param monotonicMs a clock that never jumps. */
  constructor(
    { requestId, clientRequestId = '', endpoint, receivedAtMs }: TracedRequest,
    monotonicMs: () => number = processMs,
  ) {
    this.requestId = requestId;
    this.clientRequestId = clientRequestId;
    this.endpoint = endpoint;
    this.receivedAtMs = receivedAtMs;
    this.#monotonicMs = monotonicMs;
    this.#startedAt = monotonicMs();
  }

  /** As far as it has come. */
  get story(): RequestStory {
    return this;
  }

  get moments(): RequestMoments {
    return { admitted: msOf(this.#admitted), bodyRead: msOf(this.#bodyRead), ended: msOf(this.#ended) };
  }

  get usage(): BookedUsage | undefined {
    return this.#usage;
  }

  get end(): RequestEnd | undefined {
    if (this.#ended === never) return undefined;
    const [status, errorCode, clientLeft] = [this.#status, this.#errorCode, this.#clientLeft];
    return { status, errorCode, clientLeft, waitedForRoomMs: this.#waitedForRoomMs };
  }

  /** Milliseconds since the request was received. */
  get elapsedMs(): number {
    return this.#monotonicMs() - this.#startedAt;
  }

  onAuthenticated(tokenId: string): void {
    this.tokenId = tokenId;
  }

  onAdmitted(): void {
    this.#admitted = this.#now();
  }

  /** The body is read, and names a model. */
  onModel(model: string): void {
    this.#bodyRead = this.#now();
    this.model = shortened(model);
  }

  /** The broker is asked for an account. */
  onAsking(): void {
    this.#asked = this.#now();
  }

  /** The broker has answered: an attempt begins, or there is no account. */
  onAcquired(answer: AcquireResponse): void {
    const { result, reason, skipped } = answer;
    const acquired = this.#now();
    if (result.case === 'lease') {
      this.#latest = new AttemptTrace(result.value, answer, this.#asked, acquired);
      this.attempts = this.attempts === none ? [this.#latest] : [...this.attempts, this.#latest];
      return;
    }
    const retryAt = result.case === 'exhausted' ? result.value.retryAt : undefined;
    const retryAtMs = retryAt === undefined ? undefined : timestampMs(retryAt);
    this.#endWithoutAccount({ cause: causes[result.case ?? 'unavailable'], retryAtMs, reason, skipped }, acquired);
  }

  /** The broker could not be reached. */
  onBrokerAway(): void {
    const why = { cause: NoAccountCause.BROKER_AWAY, retryAtMs: undefined, reason: '', skipped: [] };
    this.#endWithoutAccount(why, this.#now());
  }

  /** The first content of an answer is there. */
  onAnswering(): void {
    this.#latest?.onAnswering(this.#now());
  }

  /** The attempt could be made only without something that the provider refused. */
  onAmended(amended: string): void {
    if (this.#latest !== undefined) this.#latest.amended = amended;
  }

  onAttemptEnded(outcome: AttemptOutcome, givenUp = AttemptGivenUp.UNSPECIFIED): void {
    this.#latest?.onEnded(outcome, givenUp, this.#now());
  }

  /** The client was cut off because it took nothing, whether or not the attempt had ended well. */
  onClientStalled(): void {
    if (this.#latest !== undefined) this.#latest.givenUp = AttemptGivenUp.CLIENT_STALLED;
  }

  onBooked(usage: BookedUsage): void {
    const { inputTokens, cachedTokens, outputTokens, reasoningTokens, estimated } = usage;
    this.#usage = { inputTokens, cachedTokens, outputTokens, reasoningTokens, estimated };
  }

  onEnded({ status, errorCode, clientLeft, waitedForRoomMs }: RequestEnd): void {
    this.#ended = this.#now();
    this.#status = status;
    this.#errorCode = errorCode;
    this.#clientLeft = clientLeft;
    this.#waitedForRoomMs = waitedForRoomMs;
  }

  #endWithoutAccount(why: Omit<NoAccountStory, 'asked' | 'answered'>, answered: Moment): void {
    this.noAccount = { ...why, asked: msOf(this.#asked) ?? 0, answered: msOf(answered) ?? 0 };
  }

  #now(): Moment {
    return momentOf(this.#monotonicMs() - this.#startedAt);
  }
}

const none: readonly AttemptTrace[] = [];

function processMs(): number {
  return performance.now();
}

const causes = {
  exhausted: NoAccountCause.EXHAUSTED,
  unavailable: NoAccountCause.UNAVAILABLE,
  unknownModel: NoAccountCause.UNKNOWN_MODEL,
} as const;

const longestModel = 100;

/** A copy: a slice would keep the whole text in memory, which is as long as a client likes. */
function shortened(model: string): string {
  return model.length <= longestModel ? model : Buffer.from(model.slice(0, longestModel)).toString();
}
