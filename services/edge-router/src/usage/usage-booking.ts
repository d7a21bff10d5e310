import { type Timestamp, timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { Usage } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import type { Lease } from '@gateway/proto/pool/v1/account_pb.js';
import { Outcome, type UsageRecorded, UsageRecordedSchema } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { type Admission, limiterKey } from '../admission/admit.ts';
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
  /** One for all events of the request. */
  readonly #admittedAt: Timestamp;
  #lease: Lease | undefined;
  #usage: Usage | undefined;
  #outputAtCheckpoint: bigint | undefined;
  #ended: Promise<void> | undefined;
  #booked: UsageRecorded | undefined;

  constructor(request: BookedRequest, peers: BookingPeers) {
    this.#request = request;
    this.#peers = peers;
    this.#admittedAt = timestampFromMs(request.admission.admittedAtMs);
  }

  /** A provider is about to be called with this lease. */
  readonly onLease = (lease: Lease): void => {
    if (this.#ended !== undefined) return;
    this.#lease = lease;
    this.#usage = undefined;
    this.#outputAtCheckpoint = undefined;
    this.#peers.journal.open(this.#event(Outcome.UNSPECIFIED));
  };

  /**
   * What the provider has used so far. The first report says that it is answering: from now on the journal knows this,
   * and how much at least, should this process die.
   */
  readonly onUsage = (usage: Usage): void => {
    // The journal would take a request that is opened again for one that never ends.
    if (this.#ended !== undefined) return;
    this.#usage = usage;
    const booked = this.#outputAtCheckpoint;
    if (booked !== undefined && usage.outputTokens - booked < checkpointTokens) return;
    this.#outputAtCheckpoint = usage.outputTokens;
    this.#peers.journal.open(this.#event(Outcome.FAILED));
  };

  /**
   * Books the request: its tokens are charged to the day and its event is on disk when this resolves, so both are seen
   * by the next request. Nothing is booked for a request that no provider answered. Later calls change nothing.
   * @param last usage that came with the very end: the journal need not be told of it before.
   */
  end(outcome: Outcome, last?: Usage): Promise<void> {
    if (this.#ended === undefined && last !== undefined) this.#usage = last;
    this.#ended ??= this.#usage === undefined ? this.#void() : this.#book(this.#event(outcome));
    return this.#ended;
  }

  /** Ends the books of a request that got no answer at all; whatever its attempts reported is not booked. */
  discard(): Promise<void> {
    this.#ended ??= this.#void();
    return this.#ended;
  }

  /** What was booked; undefined before the end, and when nothing was. */
  get booked(): UsageRecorded | undefined {
    return this.#booked;
  }

  async #void(): Promise<void> {
    this.#peers.journal.void(this.#request.requestId);
  }

  async #book(event: UsageRecorded): Promise<void> {
    this.#booked = event;
    const { principal, requestId, admission } = this.#request;
    this.#peers.recent.add(principal.tokenId, requestId);
    const tokens = Number(event.inputTokens + event.outputTokens);
    const charge = { key: limiterKey(principal), requestId, localDay: admission.localDay, tokens };
    await Promise.all([
      this.#peers.journal.finish(event),
      principal.limits.tokensPerDay === undefined ? undefined : this.#peers.charger.charge(charge),
    ]);
  }

  #event(outcome: Outcome): UsageRecorded {
    const { requestId, principal, admission, endpoint, bodyBytes } = this.#request;
    const usage = this.#usage;
    return {
      $typeName: UsageRecordedSchema.typeName,
      requestId,
      tokenId: principal.tokenId,
      admittedAt: this.#admittedAt,
      localDay: admission.localDay,
      endpoint,
      provider: this.#lease?.provider ?? '',
      model: this.#lease?.model ?? '',
      inputTokens: usage?.inputTokens ?? BigInt(Math.ceil(bodyBytes / bytesPerToken)),
      cachedTokens: usage?.cachedTokens ?? 0n,
      outputTokens: usage?.outputTokens ?? 0n,
      reasoningTokens: usage?.reasoningTokens ?? 0n,
      estimated: usage?.estimated ?? true,
      outcome,
    };
  }
}
