import { performance } from 'node:perf_hooks';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { AttemptGivenUp, NoAccountCause } from '@gateway/proto/edge/v1/request_trace_service_pb.js';
import type { AcquireResponse } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type {
  AttemptOutcome,
  AttemptStory,
  BookedUsage,
  RequestEnd,
  RequestMoments,
  RequestStory,
} from './request-story.ts';

export interface TracedRequest {
  readonly requestId: string;
  readonly endpoint: string;
  readonly receivedAtMs: number;
}

/** Tells the story of one request while it goes on. Is called a few times for each request, and never for an event. */
export class RequestTrace {
  readonly #story: Growing<RequestStory>;
  readonly #moments: Growing<RequestMoments> = { admitted: undefined, bodyRead: undefined, ended: undefined };
  readonly #attempts: Growing<AttemptStory>[] = [];
  readonly #monotonicMs: () => number;
  readonly #startedAt: number;
  #askedAt = 0;

  /** @param monotonicMs a clock that never jumps. */
  constructor(request: TracedRequest, monotonicMs: () => number = () => performance.now()) {
    this.#monotonicMs = monotonicMs;
    this.#startedAt = monotonicMs();
    this.#story = {
      ...request,
      tokenId: '',
      model: '',
      attempts: this.#attempts,
      noAccount: undefined,
      moments: this.#moments,
      usage: undefined,
      end: undefined,
    };
  }

  get story(): RequestStory {
    return this.#story;
  }

  onAuthenticated(tokenId: string): void {
    this.#story.tokenId = tokenId;
  }

  onAdmitted(): void {
    this.#moments.admitted = this.#now();
  }

  /** The body is read, and names a model. */
  onModel(model: string): void {
    this.#moments.bodyRead = this.#now();
    this.#story.model = shortened(model);
  }

  /** The broker is asked for an account. */
  onAsking(): void {
    this.#askedAt = this.#now();
  }

  /** The broker has answered: an attempt begins, or there is no account. */
  onAcquired({ result, reason, skipped }: AcquireResponse): void {
    const [asked, acquired] = [this.#askedAt, this.#now()];
    if (result.case === 'lease') {
      const { pool, accountId, model } = result.value;
      this.#attempts.push({ pool, accountId, model, reason, skipped, asked, acquired, ...justBegun });
      return;
    }
    const retryAt = result.case === 'exhausted' ? result.value.retryAt : undefined;
    const retryAtMs = retryAt === undefined ? undefined : timestampMs(retryAt);
    const cause = causes[result.case ?? 'unavailable'];
    this.#story.noAccount = { cause, retryAtMs, reason, skipped, asked, answered: acquired };
  }

  /** The broker could not be reached. */
  onBrokerAway(): void {
    const [asked, answered] = [this.#askedAt, this.#now()];
    const cause = NoAccountCause.BROKER_AWAY;
    this.#story.noAccount = { cause, retryAtMs: undefined, reason: '', skipped: [], asked, answered };
  }

  /** The first content of an answer is there. */
  onAnswering(): void {
    const attempt = this.#attempts.at(-1);
    if (attempt !== undefined) attempt.firstByte = this.#now();
  }

  /** The attempt could be made only without something that the provider refused. */
  onAmended(amended: string): void {
    const attempt = this.#attempts.at(-1);
    if (attempt !== undefined) attempt.amended = amended;
  }

  onAttemptEnded(outcome: AttemptOutcome, givenUp = AttemptGivenUp.UNSPECIFIED): void {
    const attempt = this.#attempts.at(-1);
    if (attempt === undefined || attempt.outcome !== undefined) return;
    attempt.outcome = outcome;
    attempt.ended = this.#now();
    attempt.givenUp = givenUp;
  }

  onBooked(usage: BookedUsage): void {
    this.#story.usage = usage;
  }

  onEnded(end: RequestEnd): void {
    this.#story.end = end;
    this.#moments.ended = this.#now();
  }

  #now(): number {
    return this.#monotonicMs() - this.#startedAt;
  }
}

const justBegun = {
  firstByte: undefined,
  ended: undefined,
  outcome: undefined,
  amended: '',
  givenUp: AttemptGivenUp.UNSPECIFIED,
};

type Growing<T> = { -readonly [Member in keyof T]: T[Member] };

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
