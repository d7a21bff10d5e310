import { create } from '@bufbuild/protobuf';
import type { PriceBook, PricedTokens } from '@gateway/prices';
import { type Usage, type UsagePart, UsageSchema } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import type { Token } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { Lease } from '@gateway/proto/pool/v1/account_pb.js';
import type { RequestLogged } from '@gateway/proto/usage/v1/request_log_pb.js';
import { LedgerOutcome, type UsageRecorded, UsageRecordedSchema } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { inSpan } from '@gateway/telemetry';
import { type Admission, chargedTerms, type EdgeLimiter } from './admission/admit.ts';
import type { Pricing } from './pricing/pricing.ts';
import type { Outbox } from './usage/outbox.ts';
import { wordOf } from './usage/request-log.ts';

export interface UsagePeers {
  readonly outbox: Pick<Outbox, 'open' | 'close' | 'finish'>;
  readonly limiter: Pick<EdgeLimiter, 'charge'>;
  readonly pricing: Pick<Pricing, 'prices' | 'neighboursOf'>;
}

interface UsingRequest {
  readonly id: string;
  readonly token: Token;
  readonly admission: Admission;
  readonly route: { readonly path: string };
  /** The basis of the input estimate until a provider or an adapter has counted. */
  readonly bodyBytes: number;
  readonly logged: RequestLogged;
  /** True once: the charge that follows returns what the request took. */
  returnsPlaces(): boolean;
}

/** One time that the request is sent to a provider, and what it used there. */
interface Sending {
  /** The usage so far, for the ledger. */
  readonly event: UsageRecorded;
  /** The parts of this usage that have prices of their own. */
  parts: readonly UsagePart[];
  /** The request was sent, and the provider has not refused it. */
  isSent: boolean;
  /** The provider has reported. */
  isAnswered: boolean;
  /** The model has produced output: its usage is recorded even if the attempt fails. */
  hasProduced: boolean;
  /** The output at which the outbox gets the event again. */
  nextCheckpoint: number;
}

/** Bytes per token of ordinary text; used only if no provider has reported. */
const bytesPerToken = 4;
/** How much output may be missing from the ledger when the edge dies in the middle of a stream. */
const checkpointTokens = 1_000;

/**
 * The usage of one request. Each report replaces the previous one and is never added. The request
 * is recorded exactly once, when it ends, for whatever reason. The same applies to each attempt
 * that was abandoned after the model had produced output.
 */
export class CallUsage {
  readonly #request: UsingRequest;
  readonly #peers: UsagePeers;
  /** A change of prices does not concern requests that are running. */
  readonly #prices: PriceBook;
  /** The latest is the request's own. The others count if they produced output. */
  readonly #sendings: Sending[] = [];
  #ended: Promise<void> | undefined;

  constructor(request: UsingRequest, peers: UsagePeers) {
    this.#request = request;
    this.#peers = peers;
    this.#prices = peers.pricing.prices;
  }

  /** A provider is about to be called with this lease. */
  onLease({ provider, model, accountId }: Lease): void {
    if (this.#ended !== undefined) return;
    const { id: requestId, token, admission, route, bodyBytes } = this.#request;
    const last = this.#sendings.at(-1);
    // A row of its own, because the next attempt may use another account and another model. Opened
    // in the same turn as the next event, so that one transaction stores both.
    if (last?.hasProduced) {
      last.event.requestId = `${requestId}/${this.#sendings.length}`;
      this.#open(last, LedgerOutcome.GIVEN_UP);
    }
    const { tokenId, groupId } = token;
    const { admittedAtMs, localDay } = admission;
    const of = { requestId, tokenId, groupId, admittedAtMs, localDay, endpoint: route.path };
    const estimate = { inputTokens: Math.ceil(bodyBytes / bytesPerToken), estimated: true };
    const event = create(UsageRecordedSchema, { ...of, ...estimate, provider, model, accountId });
    const nothingYet = { parts: [], isSent: false, isAnswered: false, hasProduced: false, nextCheckpoint: 0 };
    const sending = { event, ...nothingYet };
    this.#sendings.push(sending);
    this.#open(sending, LedgerOutcome.UNSPECIFIED);
  }

  /**
   * The request was sent to the provider, which may bill its input from now on, even if the client
   * disconnects.
   */
  onSent(usage: Usage): void {
    const sending = this.#take(usage);
    if (sending !== undefined) sending.isSent = true;
  }

  /**
   * The model has begun to write or to reason. Its provider bills for that, whatever the attempt's
   * result.
   */
  onProduced(): void {
    if (this.#sending !== undefined) this.#sending.hasProduced = true;
  }

  /** The latest attempt failed: a provider that refuses a request does not bill it. */
  onAttemptFailed(): void {
    if (this.#sending !== undefined) Object.assign(this.#sending, { isSent: false, isAnswered: false });
  }

  /**
   * The provider's usage so far. The first report shows that it is answering: from now on, if this
   * process dies, the outbox delivers the request as failed, with the usage so far.
   */
  onUsage(usage: Usage): void {
    const sending = this.#take(usage);
    if (sending === undefined || (sending.isAnswered && usage.outputTokens < sending.nextCheckpoint)) return;
    sending.isAnswered = true;
    sending.nextCheckpoint = usage.outputTokens + checkpointTokens;
    this.#open(sending, LedgerOutcome.FAILED);
  }

  /**
   * Records the request and settles it. When this resolves, its event is delivered or at least on
   * disk, and its tokens are charged to the day: the next request sees both. Nothing is recorded
   * for a request that was sent to no provider. Later calls have no effect.
   * @param last usage that arrived at the very end.
   */
  settle(outcome: LedgerOutcome, last?: Usage): Promise<void> {
    const sending = last === undefined ? this.#sending : this.#take(last);
    const isUsed = sending?.isSent || sending?.isAnswered || sending?.hasProduced || last !== undefined;
    this.#ended ??= this.#record(isUsed ? outcome : undefined);
    return this.#ended;
  }

  /** Settles a request that got no answer: only what its attempts produced is recorded. */
  discard(): Promise<void> {
    this.#ended ??= this.#record(this.#sending?.hasProduced ? LedgerOutcome.FAILED : undefined);
    return this.#ended;
  }

  /** The latest, until the end: reopening an ended request would leave an open row behind. */
  get #sending(): Sending | undefined {
    return this.#ended === undefined ? this.#sendings.at(-1) : undefined;
  }

  #take({ $typeName: _, $unknown: __, parts, ...counts }: Usage): Sending | undefined {
    const sending = this.#sending;
    if (sending === undefined) return undefined;
    Object.assign(sending.event, counts);
    return Object.assign(sending, { parts });
  }

  /** @param outcome undefined: nothing is recorded but what abandoned attempts have produced. */
  async #record(outcome: LedgerOutcome | undefined): Promise<void> {
    const last = this.#sendings.at(-1);
    if (last === undefined) return;
    const ended = outcome === undefined ? this.#peers.outbox.close(this.#request.id) : this.#end(last, outcome);
    const givenUp = this.#sendings.filter((each) => each.hasProduced && each !== last);
    await (givenUp.length === 0 ? ended : Promise.all([ended, ...givenUp.map(({ event }) => this.#finish(event))]));
  }

  #end(sending: Sending, outcome: LedgerOutcome): Promise<void> {
    const { event } = sending;
    event.outcome = outcome;
    this.#price(sending);
    const { $typeName: _, ...counts } = event;
    const { logged } = this.#request;
    logged.usage = create(UsageSchema, counts);
    if (event.costMicros !== undefined) logged.costMicros = event.costMicros;
    return inSpan('settle', {}, (span) => {
      span.setAttribute('gateway.outcome', wordOf(LedgerOutcome, outcome));
      return this.#finish(event);
    });
  }

  /**
   * The day is charged before the event may be delivered: otherwise a counter loaded from the
   * ledger in between would count the request twice.
   */
  #finish(event: UsageRecorded): Promise<void> {
    return this.#peers.outbox.finish(event, this.#charge(event));
  }

  /** The end of the request itself also returns what it took at its admission. */
  #charge({ requestId, localDay, inputTokens, outputTokens, costMicros = 0 }: UsageRecorded) {
    const terms = chargedTerms(this.#request.token);
    if (terms === undefined) return undefined;
    const charge = { ...terms, requestId, localDay, tokens: inputTokens + outputTokens };
    if (terms.group === undefined && terms.limits === undefined) return this.#peers.limiter.charge(charge);
    const ended = requestId === this.#request.id && this.#request.returnsPlaces();
    return this.#peers.limiter.charge({ ...charge, costMicros, ended });
  }

  /** The outbox keeps the cost so far, so that it is known if this process dies. */
  #open(sending: Sending, outcome: LedgerOutcome): void {
    sending.event.outcome = outcome;
    this.#price(sending);
    this.#peers.outbox.open(sending.event);
  }

  #price({ event, parts: reported }: Sending): void {
    const { model, localDay } = event;
    const { pricing } = this.#peers;
    // Whatever the provider served: nothing that a budget counts is free because it has no price.
    const isBudgeted = this.#request.token.group?.limits?.budget !== undefined;
    const insteadOf = (of: string, tokens: PricedTokens) =>
      isBudgeted ? this.#prices.dearestPriceOf(of, pricing.neighboursOf(of), tokens, localDay) : undefined;
    const { parts, costMicros } = this.#prices.priceParts(model, reported, localDay, insteadOf);
    const ofWhole = () =>
      isBudgeted
        ? this.#prices.costAnyway(model, pricing.neighboursOf(model), event, localDay)
        : this.#prices.costOf(model, event, localDay);
    const cost = parts.length === 0 ? ofWhole() : costMicros;
    event.parts = parts;
    if (cost === undefined) delete event.costMicros;
    else event.costMicros = cost;
  }
}
