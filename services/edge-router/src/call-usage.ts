import { create } from '@bufbuild/protobuf';
import type { PriceBook, PricedTokens } from '@gateway/prices';
import { type Usage, type UsagePart, UsageSchema } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import type { Token } from '@gateway/proto/identity/v1/identity_service_pb.js';
import {
  type RecordedAttempt,
  RecordedAttemptSchema,
  RequestEnding,
  type RequestRecorded,
} from '@gateway/proto/usage/v1/request_recorded_pb.js';
import type { Pricing } from './pricing/pricing.ts';
import type { Outbox, OutboxRow } from './usage/outbox.ts';

export interface UsagePeers {
  readonly outbox: Pick<Outbox, 'open'>;
  readonly pricing: Pick<Pricing, 'prices' | 'neighboursOf'>;
}

interface UsingRequest {
  readonly record: RequestRecorded;
  readonly row: OutboxRow;
  readonly token: Token;
}

/** One time that the request is sent to a provider. What it used there is in its attempt. */
interface Sending {
  readonly attempt: RecordedAttempt;
  /** The parts of this usage that have prices of their own, as they were reported. */
  parts: readonly UsagePart[];
  /** The request was sent, and the provider has not refused it. */
  isSent: boolean;
  /** The provider has reported. */
  isAnswered: boolean;
  /** The model has produced output: its usage is recorded even if the attempt fails. */
  hasProduced: boolean;
  /** The output at which the outbox gets the record again. */
  nextCheckpoint: number;
}

/** Bytes per token of ordinary text; used only if no provider has reported. */
const bytesPerToken = 4;
/** How much output may be missing from the ledger when the edge dies in the middle of a stream. */
const checkpointTokens = 1_000;

/**
 * The usage of one request, in the attempts of its record. Each report replaces the previous one
 * and is never added. An abandoned attempt keeps its usage if the model had produced output.
 */
export class CallUsage {
  readonly #request: UsingRequest;
  readonly #peers: UsagePeers;
  /** A change of prices does not concern requests that are running. */
  readonly #prices: PriceBook;
  /** The latest, until the end: reopening an ended request would leave an open row behind. */
  #sending: Sending | undefined;
  #hasEnded = false;

  constructor(request: UsingRequest, peers: UsagePeers) {
    this.#request = request;
    this.#peers = peers;
    this.#prices = peers.pricing.prices;
  }

  /** A provider is about to be called for the latest attempt. */
  onLease(): void {
    if (this.#hasEnded) return;
    const { record } = this.#request;
    const last = this.#sending;
    const attempt = last?.hasProduced ? nextAttempt(record, last.attempt) : record.attempts.at(-1);
    if (attempt === undefined) return;
    if (last !== undefined) this.#close(last, false);
    const inputTokens = Math.ceil(record.bodyBytes / bytesPerToken);
    attempt.usage = create(UsageSchema, { inputTokens, estimated: true });
    const nothingYet = { parts: [], isSent: false, isAnswered: false, hasProduced: false, nextCheckpoint: 0 };
    this.#sending = { attempt, ...nothingYet };
    this.#open(this.#sending, RequestEnding.UNSPECIFIED);
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
    this.#open(sending, RequestEnding.FAILED);
  }

  /**
   * Leaves in the record what is billed, at its price.
   * @param countsSent a provider that was still answering bills it; otherwise only what was
   *   produced counts.
   * @param last usage that arrived at the very end.
   */
  end(countsSent: boolean, last?: Usage): void {
    const sending = last === undefined ? this.#sending : this.#take(last);
    this.#sending = undefined;
    this.#hasEnded = true;
    if (sending === undefined) return;
    this.#close(sending, countsSent && (sending.isSent || sending.isAnswered || last !== undefined));
  }

  /** A model that has produced something is billed, even if its attempt failed. */
  #close(sending: Sending, isBilled: boolean): void {
    if (isBilled || sending.hasProduced) this.#price(sending);
    else withoutUsage(sending.attempt);
  }

  #take(usage: Usage): Sending | undefined {
    const sending = this.#sending;
    if (sending === undefined) return undefined;
    sending.attempt.usage = { ...usage, parts: [] };
    sending.parts = usage.parts;
    return sending;
  }

  /** The outbox keeps the cost so far, so that it is known if this process dies. */
  #open(sending: Sending, ending: RequestEnding): void {
    const { record, row } = this.#request;
    record.ending = ending;
    this.#price(sending);
    this.#peers.outbox.open(row);
  }

  #price({ attempt, parts: reported }: Sending): void {
    const { model, usage } = attempt;
    if (usage === undefined) return;
    const { localDay } = this.#request.record;
    const { pricing } = this.#peers;
    // Whatever the provider served: nothing that a budget counts is free because it has no price.
    const isBudgeted = this.#request.token.group?.limits?.budget !== undefined;
    const insteadOf = (of: string, tokens: PricedTokens) =>
      isBudgeted ? this.#prices.dearestPriceOf(of, pricing.neighboursOf(of), tokens, localDay) : undefined;
    const { parts, costMicros } = this.#prices.priceParts(model, reported, localDay, insteadOf);
    const ofWhole = () =>
      isBudgeted
        ? this.#prices.costAnyway(model, pricing.neighboursOf(model), usage, localDay)
        : this.#prices.costOf(model, usage, localDay);
    const cost = parts.length === 0 ? ofWhole() : costMicros;
    usage.parts = [...parts];
    if (cost === undefined) delete attempt.costMicros;
    else attempt.costMicros = cost;
  }
}

function withoutUsage(attempt: RecordedAttempt): void {
  delete attempt.usage;
  delete attempt.costMicros;
}

/**
 * The latest attempt, or another one if that has produced output: its adapter was lost, and the
 * call is repeated with the same lease.
 */
function nextAttempt({ attempts }: RequestRecorded, produced: RecordedAttempt): RecordedAttempt | undefined {
  const latest = attempts.at(-1);
  if (latest !== produced) return latest;
  const { pool, accountId, model, provider, reason, asked, acquired } = produced;
  const again = create(RecordedAttemptSchema, { pool, accountId, model, provider, reason, asked, acquired });
  attempts.push(again);
  return again;
}
