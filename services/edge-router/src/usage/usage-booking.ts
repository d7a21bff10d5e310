import { type Timestamp, timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { Usage } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import type { Lease } from '@gateway/proto/pool/v1/account_pb.js';
import { Outcome, type UsageRecorded, UsageRecordedSchema } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import type { Admission } from '../admission/admit.ts';
import { limiterTerms } from '../admission/limiter-terms.ts';
import type { Principal } from '../authentication/principal.ts';
import type { UsageJournal } from '../journal/usage-journal.ts';
import type { DayBudgetCharger } from './day-budget-charger.ts';
import type { RecentRequests } from './recent-requests.ts';

export interface BookingPeers {
  readonly journal: Pick<UsageJournal, 'open' | 'void' | 'finish'>;
  readonly charger: Pick<DayBudgetCharger, 'charge'>;
  readonly recent: RecentRequests;
}

export interface BookedRequest {
  readonly requestId: string;
  readonly principal: Principal;
  readonly admission: Admission;
  /** The endpoint's path. */
  readonly endpoint: string;
  /** Size of the client's body: what the input is estimated from until somebody knows better. */
  readonly bodyBytes: number;
}

/** Bytes per token of ordinary text; used only where no provider has reported. */
const bytesPerToken = 4;
/** How much output may be missing from the books of a stream whose edge dies. */
const checkpointTokens = 1_000n;

/**
 * The books of one request. Usage is replaced by every later report, never added; the request is booked exactly once,
 * when it ends, whatever the reason.
 */
export class UsageBooking {
  readonly #request: BookedRequest;
  readonly #peers: BookingPeers;
  /** One for the whole request, from its first lease on: it always says what is to be booked as far as is known. */
  #event: UsageRecorded | undefined;
  /** The request has been sent with the latest lease, and the provider has not refused it. */
  #isSent = false;
  /** The provider of the latest lease has reported. */
  #isAnswered = false;
  /** With so much output the journal is told again. */
  #nextCheckpoint = 0n;
  #ended: Promise<void> | undefined;
  #isBooked = false;

  constructor(request: BookedRequest, peers: BookingPeers) {
    this.#request = request;
    this.#peers = peers;
  }

  /** A provider is about to be called with this lease. */
  onLease(lease: Lease): void {
    if (this.#ended !== undefined) return;
    this.#event = this.#unanswered(lease);
    this.#isSent = false;
    this.#isAnswered = false;
    this.#peers.journal.open(this.#event);
  }

  /** The request has been sent to the provider, which may bill its input from now on: should the client leave, that is booked. */
  onSent(usage: Usage): void {
    if (this.#ended !== undefined) return;
    this.#take(usage);
    this.#isSent = true;
  }

  /** The attempt with the latest lease came to nothing: a provider that refuses a request does not bill it. */
  onAttemptFailed(): void {
    this.#isSent = false;
  }

  /**
   * What the provider has used so far. The first report says that it is answering: from now on the journal knows this,
   * and how much at least, should this process die. Whoever is given it alone may call it.
   */
  readonly onUsage = (usage: Usage): void => {
    // The journal would take a request that is opened again for one that never ends.
    if (this.#ended !== undefined) return;
    const event = this.#take(usage);
    if (this.#isAnswered && usage.outputTokens < this.#nextCheckpoint) return;
    this.#isAnswered = true;
    this.#nextCheckpoint = usage.outputTokens + checkpointTokens;
    event.outcome = Outcome.FAILED;
    this.#peers.journal.open(event);
  };

  /**
   * Books the request: its tokens are charged to the day and its event is on disk when this resolves, so both are seen
   * by the next request. Nothing is booked for a request that no provider was sent. Later calls change nothing.
   * @param last usage that came with the very end: the journal need not be told of it before.
   */
  end(outcome: Outcome, last?: Usage): Promise<void> {
    if (this.#ended !== undefined) return this.#ended;
    if (last !== undefined) this.#take(last);
    const isOwed = this.#isSent || this.#isAnswered || last !== undefined;
    this.#ended = isOwed && this.#event !== undefined ? this.#book(this.#event, outcome) : this.#void();
    return this.#ended;
  }

  /** Ends the books of a request that got no answer at all; whatever its attempts reported is not booked. */
  discard(): Promise<void> {
    this.#ended ??= this.#void();
    return this.#ended;
  }

  /** What was booked; undefined before the end, and when nothing was. */
  get booked(): UsageRecorded | undefined {
    return this.#isBooked ? this.#event : undefined;
  }

  #void(): Promise<void> {
    this.#peers.journal.void(this.#request.requestId);
    return nothingBooked;
  }

  #book(event: UsageRecorded, outcome: Outcome): Promise<void> {
    const { journal, recent, charger } = this.#peers;
    const { principal, requestId, admission } = this.#request;
    event.outcome = outcome;
    this.#isBooked = true;
    recent.add(principal.tokenId, requestId);
    const finished = journal.finish(event);
    if (principal.limits.tokensPerDay === undefined) return finished;
    const tokens = Number(event.inputTokens + event.outputTokens);
    const charged = charger.charge({
      key: limiterTerms(principal).key,
      requestId,
      localDay: admission.localDay,
      tokens,
    });
    // Neither ever rejects.
    return finished.then(() => charged);
  }

  #take(usage: Usage): UsageRecorded {
    this.#event ??= this.#unanswered(undefined);
    const event = this.#event;
    event.inputTokens = usage.inputTokens;
    event.cachedTokens = usage.cachedTokens;
    event.outputTokens = usage.outputTokens;
    event.reasoningTokens = usage.reasoningTokens;
    event.estimated = usage.estimated;
    return event;
  }

  #unanswered(lease: Lease | undefined): UsageRecorded {
    const { requestId, principal, admission, endpoint, bodyBytes } = this.#request;
    return {
      $typeName: UsageRecordedSchema.typeName,
      requestId,
      tokenId: principal.tokenId,
      admittedAt: timestampAt(admission.admittedAtMs),
      localDay: admission.localDay,
      endpoint,
      provider: lease?.provider ?? '',
      model: lease?.model ?? '',
      inputTokens: BigInt(Math.ceil(bodyBytes / bytesPerToken)),
      cachedTokens: 0n,
      outputTokens: 0n,
      reasoningTokens: 0n,
      estimated: true,
      outcome: Outcome.UNSPECIFIED,
    };
  }
}

const nothingBooked = Promise.resolve();

/** Requests of the same millisecond share one. */
function timestampAt(epochMs: number): Timestamp {
  if (epochMs !== latest.epochMs) latest = { epochMs, timestamp: timestampFromMs(epochMs) };
  return latest.timestamp;
}

let latest = { epochMs: 0, timestamp: timestampFromMs(0) };
