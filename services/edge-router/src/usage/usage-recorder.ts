import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { Usage } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import type { Lease } from '@gateway/proto/pool/v1/account_pb.js';
import { Outcome, type UsageRecorded, UsageRecordedSchema } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { type Admission, limiterTerms } from '../admission/admit.ts';
import type { OutageTolerantLimiter } from '../admission/outage-tolerant-limiter.ts';
import type { Principal } from '../authentication/authenticate.ts';
import type { Outbox } from './outbox.ts';

export interface RecorderPeers {
  readonly outbox: Pick<Outbox, 'open' | 'close' | 'finish'>;
  readonly limiter: Pick<OutageTolerantLimiter, 'charge'>;
}

export interface RecordedRequest {
  readonly requestId: string;
  readonly principal: Principal;
  readonly admission: Admission;
  /** The endpoint's path. */
  readonly endpoint: string;
  /** Size of the client's body: the input is estimated from it until a provider or an adapter has counted. */
  readonly bodyBytes: number;
}

/** Bytes per token of ordinary text; used only where no provider has reported. */
const bytesPerToken = 4;
/** How much output may be missing from the ledger when the edge dies in the middle of a stream. */
const checkpointTokens = 1_000n;

/**
 * Records the usage of one request. Each report replaces the one before, it is never added; the request is recorded exactly
 * once, when it ends, whatever the reason.
 */
export class UsageRecorder {
  readonly #request: RecordedRequest;
  readonly #peers: RecorderPeers;
  /** One for the whole request, from its first lease on: what is to be recorded as far as is known. */
  #event: UsageRecorded | undefined;
  /** The request has been sent with the latest lease, and the provider has not refused it. */
  #isSent = false;
  /** The provider of the latest lease has reported. */
  #isAnswered = false;
  /** The outbox gets the event again with so much output. */
  #nextCheckpoint = 0n;
  #ended: Promise<void> | undefined;
  #isRecorded = false;

  constructor(request: RecordedRequest, peers: RecorderPeers) {
    this.#request = request;
    this.#peers = peers;
  }

  /** A provider is about to be called with this lease. */
  onLease(lease: Lease): void {
    if (this.#ended !== undefined) return;
    this.#event = this.#unanswered(lease);
    this.#isSent = false;
    this.#isAnswered = false;
    this.#peers.outbox.open(this.#event);
  }

  /** The request has been sent to the provider, which may bill its input from now on, even if the client leaves. */
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
   * What the provider has used so far. The first report says that it is answering: from now on the outbox knows this,
   * and how much at least, should this process die. May be passed on without its object.
   */
  readonly onUsage = (usage: Usage): void => {
    // A request that was opened again would never end.
    if (this.#ended !== undefined) return;
    const event = this.#take(usage);
    if (this.#isAnswered && usage.outputTokens < this.#nextCheckpoint) return;
    this.#isAnswered = true;
    this.#nextCheckpoint = usage.outputTokens + checkpointTokens;
    event.outcome = Outcome.FAILED;
    this.#peers.outbox.open(event);
  };

  /**
   * Records the request and settles it: when this resolves its event is delivered, or at least on disk, and its tokens are
   * charged to the day: the next request sees both. Nothing is recorded of a request that no provider was sent. Later calls change nothing.
   * @param last usage that came with the very end.
   */
  end(outcome: Outcome, last?: Usage): Promise<void> {
    if (this.#ended !== undefined) return this.#ended;
    if (last !== undefined) this.#take(last);
    const isOwed = this.#isSent || this.#isAnswered || last !== undefined;
    this.#ended = isOwed && this.#event !== undefined ? this.#record(this.#event, outcome) : this.#recordNothing();
    return this.#ended;
  }

  /** Ends a request that got no answer at all; what its attempts reported is not recorded. */
  discard(): Promise<void> {
    this.#ended ??= this.#recordNothing();
    return this.#ended;
  }

  /** What was recorded; undefined before the end, and when nothing was. */
  get recorded(): UsageRecorded | undefined {
    return this.#isRecorded ? this.#event : undefined;
  }

  /**
   * Charges the day before the event may leave: a counter that is loaded from the ledger between the two would count the request
   * twice. Should this process die meanwhile, the row has the last numbers. Neither step ever rejects.
   */
  async #record(event: UsageRecorded, outcome: Outcome): Promise<void> {
    this.#isRecorded = true;
    if (this.#request.principal.limits.tokensPerDay !== undefined) {
      this.#peers.outbox.open(event);
      await this.#settle(event);
    }
    event.outcome = outcome;
    await this.#peers.outbox.finish(event);
  }

  async #recordNothing(): Promise<void> {
    this.#peers.outbox.close(this.#request.requestId);
  }

  async #settle({ inputTokens, outputTokens }: UsageRecorded): Promise<void> {
    const { principal, requestId, admission } = this.#request;
    const { key } = limiterTerms(principal);
    const tokens = Number(inputTokens + outputTokens);
    await this.#peers.limiter.charge({ key, requestId, localDay: admission.localDay, tokens });
  }

  #take({ inputTokens, cachedTokens, outputTokens, reasoningTokens, estimated }: Usage): UsageRecorded {
    this.#event ??= this.#unanswered(undefined);
    return Object.assign(this.#event, { inputTokens, cachedTokens, outputTokens, reasoningTokens, estimated });
  }

  #unanswered(lease: Lease | undefined): UsageRecorded {
    const { requestId, principal, admission, endpoint, bodyBytes } = this.#request;
    return create(UsageRecordedSchema, {
      requestId,
      tokenId: principal.tokenId,
      admittedAt: timestampFromMs(admission.admittedAtMs),
      localDay: admission.localDay,
      endpoint,
      provider: lease?.provider ?? '',
      model: lease?.model ?? '',
      inputTokens: BigInt(Math.ceil(bodyBytes / bytesPerToken)),
      estimated: true,
    });
  }
}
