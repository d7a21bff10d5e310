import { clone, create } from '@bufbuild/protobuf';
import type { PriceBook, PricedTokens } from '@gateway/prices';
import type { Usage, UsagePart } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import type { Lease } from '@gateway/proto/pool/v1/account_pb.js';
import { LedgerOutcome, type UsageRecorded, UsageRecordedSchema } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { inSpan } from '@gateway/telemetry';
import type { EdgeLimiter } from '../admission/admit.ts';
import { chargedTerms } from '../admission/admit.ts';
import type { RunningRequests } from '../admission/running-requests.ts';
import type { Pricing } from '../pricing/pricing.ts';
import type { AdmittedRequest } from '../request-context.ts';
import type { Outbox } from './outbox.ts';
import { wordOf } from './request-log.ts';

export interface RecorderPeers {
  readonly outbox: Pick<Outbox, 'open' | 'close' | 'finish'>;
  readonly limiter: Pick<EdgeLimiter, 'charge'>;
  readonly running: Pick<RunningRequests, 'remove'>;
  readonly pricing: Pick<Pricing, 'prices' | 'neighboursOf'>;
}

interface RecordedRequest extends Pick<AdmittedRequest, 'requestId' | 'token' | 'admission'> {
  /** The endpoint's path. */
  readonly endpoint: string;
  /**
   * The size of the client's body: the basis of the input estimate until a provider or an adapter
   * has counted.
   */
  readonly bodyBytes: number;
}

/** Bytes per token of ordinary text; used only if no provider has reported. */
const bytesPerToken = 4;
/** How much output may be missing from the ledger when the edge dies in the middle of a stream. */
const checkpointTokens = 1_000;

/**
 * Records the usage of one request. Each report replaces the previous one and is never added. The
 * request is recorded exactly once, when it ends, for whatever reason. The same applies to each
 * attempt that was abandoned after the model had produced output.
 */
export class UsageRecorder {
  readonly #request: RecordedRequest;
  readonly #peers: RecorderPeers;
  /** Those of the admission: a change of prices does not concern requests that are running. */
  readonly #prices: PriceBook;
  /** The usage so far: one event for the whole request. */
  readonly #event: UsageRecorded;
  /** The parts of this usage that have prices of their own. */
  #parts: readonly UsagePart[] = [];
  /** The request was sent with the latest lease, and the provider has not refused it. */
  #isSent = false;
  /** The provider of the latest lease has reported. */
  #isAnswered = false;
  /**
   * The model of the latest lease has produced output: its usage is recorded even if the attempt
   * fails.
   */
  #hasProduced = false;
  /** How many providers were called. */
  #attempts = 0;
  /** The events of abandoned attempts. */
  readonly #givenUp: UsageRecorded[] = [];
  /** The output at which the outbox gets the event again. */
  #nextCheckpoint = 0;
  #ended: Promise<void> | undefined;
  /** What was recorded; undefined before the end, and if nothing was. */
  recorded: UsageRecorded | undefined;

  constructor(request: RecordedRequest, peers: RecorderPeers) {
    this.#request = request;
    this.#peers = peers;
    this.#prices = peers.pricing.prices;
    const { requestId, token, admission, endpoint } = request;
    this.#event = create(UsageRecordedSchema, {
      requestId,
      tokenId: token.tokenId,
      groupId: token.groupId,
      admittedAtMs: admission.admittedAtMs,
      localDay: admission.localDay,
      endpoint,
    });
  }

  /** A provider is about to be called with this lease. */
  onLease({ provider, model, accountId }: Lease): void {
    if (this.#ended !== undefined) return;
    // Opened in the same turn as the next attempt's event, so that one transaction stores both.
    if (this.#hasProduced) this.#keepGivenUp();
    this.#attempts += 1;
    Object.assign(this.#event, { provider, model, accountId, outcome: LedgerOutcome.UNSPECIFIED });
    const inputTokens = Math.ceil(this.#request.bodyBytes / bytesPerToken);
    this.#take({ ...nothingUsed, inputTokens });
    this.#isSent = false;
    this.#isAnswered = false;
    this.#hasProduced = false;
    this.#open(this.#event);
  }

  /**
   * The request was sent to the provider, which may bill its input from now on, even if the client
   * disconnects.
   */
  onSent(usage: Usage): void {
    if (this.#ended !== undefined) return;
    this.#take(usage);
    this.#isSent = true;
  }

  /**
   * The model has begun to write or to reason. Its provider bills for that, whatever the attempt's
   * result.
   */
  onProduced(): void {
    this.#hasProduced = true;
  }

  /**
   * The attempt with the latest lease failed: a provider that refuses a request does not bill it.
   */
  onAttemptFailed(): void {
    this.#isSent = false;
    this.#isAnswered = false;
  }

  /**
   * The provider's usage so far. The first report shows that it is answering: from now on, if this
   * process dies, the outbox delivers the request as failed, with the usage so far.
   */
  onUsage(usage: Usage): void {
    // Reopening an ended request would leave an open row behind.
    if (this.#ended !== undefined) return;
    this.#take(usage);
    if (this.#isAnswered && usage.outputTokens < this.#nextCheckpoint) return;
    this.#isAnswered = true;
    this.#nextCheckpoint = usage.outputTokens + checkpointTokens;
    this.#event.outcome = LedgerOutcome.FAILED;
    this.#open(this.#event);
  }

  /**
   * Records the request and settles it. When this resolves, its event is delivered or at least on
   * disk, and its tokens are charged to the day: the next request sees both. Nothing is recorded
   * for a request that was sent to no provider. Later calls have no effect.
   * @param last usage that arrived at the very end.
   */
  end(outcome: LedgerOutcome, last?: Usage): Promise<void> {
    if (this.#ended !== undefined) return this.#ended;
    if (last !== undefined) this.#take(last);
    const isUsed = this.#isSent || this.#isAnswered || this.#hasProduced || last !== undefined;
    this.#ended = isUsed ? this.#record(outcome) : this.#forget();
    return this.#ended;
  }

  /**
   * Ends a request that got no answer at all. Of its attempts, only what they produced is recorded.
   */
  discard(): Promise<void> {
    this.#ended ??= this.#hasProduced ? this.#record(LedgerOutcome.FAILED) : this.#forget();
    return this.#ended;
  }

  async #record(outcome: LedgerOutcome): Promise<void> {
    this.#event.outcome = outcome;
    this.#price(this.#event);
    this.recorded = this.#event;
    // The day is charged before the event may be delivered: otherwise a counter loaded from the
    // ledger in between would count the request twice.
    const ended = inSpan('settle', {}, (span) => {
      span.setAttribute('gateway.outcome', wordOf(LedgerOutcome, outcome));
      return this.#peers.outbox.finish(this.#event, this.#charge(this.#event));
    });
    await (this.#givenUp.length === 0 ? ended : Promise.all([ended, this.#finishGivenUp()]));
  }

  async #forget(): Promise<void> {
    this.#peers.outbox.close(this.#request.requestId);
    await this.#finishGivenUp();
  }

  /** A row of its own, because the next attempt may use another account and another model. */
  #keepGivenUp(): void {
    const requestId = `${this.#request.requestId}/${this.#attempts}`;
    const event = Object.assign(clone(UsageRecordedSchema, this.#event), {
      requestId,
      outcome: LedgerOutcome.GIVEN_UP,
    });
    this.#givenUp.push(event);
    this.#open(event);
  }

  /** The outbox keeps the cost so far, so that it is known if this process dies. */
  #open(event: UsageRecorded): void {
    this.#price(event);
    this.#peers.outbox.open(event);
  }

  #price(event: UsageRecorded): void {
    const { model, localDay } = event;
    const { pricing } = this.#peers;
    // Whatever the provider served: nothing that a budget counts is free because it has no price.
    const isBudgeted = this.#request.token.group?.limits?.budget !== undefined;
    const insteadOf = (of: string, tokens: PricedTokens) =>
      isBudgeted ? this.#prices.dearestPriceOf(of, pricing.neighboursOf(of), tokens, localDay) : undefined;
    const { parts, costMicros } = this.#prices.priceParts(model, this.#parts, localDay, insteadOf);
    const ofWhole = () =>
      isBudgeted
        ? this.#prices.costAnyway(model, pricing.neighboursOf(model), event, localDay)
        : this.#prices.costOf(model, event, localDay);
    const cost = parts.length === 0 ? ofWhole() : costMicros;
    event.parts = parts;
    if (cost === undefined) delete event.costMicros;
    else event.costMicros = cost;
  }

  async #finishGivenUp(): Promise<void> {
    await Promise.all(this.#givenUp.map((event) => this.#peers.outbox.finish(event, this.#charge(event))));
  }

  /** The end of the request itself also returns what it took at its admission. */
  #charge({ requestId, inputTokens, outputTokens, costMicros }: UsageRecorded): Promise<void> | undefined {
    const { token, admission } = this.#request;
    const terms = chargedTerms(token);
    if (terms === undefined) return undefined;
    const tokens = inputTokens + outputTokens;
    const charge = { ...terms, requestId, localDay: admission.localDay, tokens };
    if (terms.group === undefined && terms.limits === undefined) return this.#peers.limiter.charge(charge);
    const ended = requestId === this.#request.requestId && this.#peers.running.remove(requestId);
    return this.#peers.limiter.charge({ ...charge, costMicros: costMicros ?? 0, ended });
  }

  #take(usage: Counts): void {
    const { inputTokens, cachedTokens, cacheWrite5mTokens, cacheWrite1hTokens } = usage;
    const { outputTokens, reasoningTokens, estimated, parts } = usage;
    Object.assign(this.#event, { inputTokens, cachedTokens, cacheWrite5mTokens, cacheWrite1hTokens });
    Object.assign(this.#event, { outputTokens, reasoningTokens, estimated });
    this.#parts = parts;
  }
}

type Counts = Omit<Usage, '$typeName'>;

const nothingUsed: Counts = {
  inputTokens: 0,
  cachedTokens: 0,
  cacheWrite5mTokens: 0,
  cacheWrite1hTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  estimated: true,
  parts: [],
};
