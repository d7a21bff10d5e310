import { AttemptGivenUp } from '@gateway/proto/edge/v1/request_trace_service_pb.js';
import { AttemptResult, type Lease, type SkippedAccounts } from '@gateway/proto/pool/v1/account_pb.js';
import type { AcquireResponse } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { type Moment, msOf, never } from './moment.ts';
import type { AttemptOutcome, AttemptStory } from './request-story.ts';

/** Tells the story of one attempt while it goes on. Of what it is given it keeps only what is told. */
export class AttemptTrace implements AttemptStory {
  readonly pool: string;
  readonly accountId: string;
  readonly model: string;
  readonly reason: string;
  readonly skipped: readonly SkippedAccounts[];
  amended = '';
  givenUp = AttemptGivenUp.UNSPECIFIED;
  readonly #asked: Moment;
  readonly #acquired: Moment;
  #firstByte: Moment = never;
  #ended: Moment = never;
  #result = AttemptResult.UNSPECIFIED;
  #upstreamStatus = 0;
  #retryAt: AttemptOutcome['retryAt'];

  constructor({ pool, accountId, model }: Lease, answer: AcquireResponse, asked: Moment, acquired: Moment) {
    this.pool = pool;
    this.accountId = accountId;
    this.model = model;
    this.reason = answer.reason;
    this.skipped = answer.skipped.length === 0 ? none : answer.skipped;
    this.#asked = asked;
    this.#acquired = acquired;
  }

  get asked(): number {
    return msOf(this.#asked) ?? 0;
  }

  get acquired(): number {
    return msOf(this.#acquired) ?? 0;
  }

  get firstByte(): number | undefined {
    return msOf(this.#firstByte);
  }

  get ended(): number | undefined {
    return msOf(this.#ended);
  }

  get outcome(): AttemptOutcome | undefined {
    if (this.#ended === never) return undefined;
    return { result: this.#result, upstreamStatus: this.#upstreamStatus, retryAt: this.#retryAt };
  }

  onAnswering(at: Moment): void {
    this.#firstByte = at;
  }

  /** The first word on how it ended is kept. */
  onEnded(outcome: AttemptOutcome, givenUp: AttemptGivenUp, at: Moment): void {
    if (this.#ended !== never) return;
    this.#ended = at;
    this.givenUp = givenUp;
    this.#result = outcome.result ?? AttemptResult.UNSPECIFIED;
    this.#upstreamStatus = outcome.upstreamStatus ?? 0;
    this.#retryAt = outcome.retryAt;
  }
}

const none: readonly SkippedAccounts[] = [];
