import { toErrorDetail } from '@gateway/errors';
import { AttemptResult, type Lease } from '@gateway/proto/pool/v1/account_pb.js';
import type { AdapterContext } from '../adapter-context.ts';
import { failureOfChoice } from '../failure/attempt-failure.ts';
import { unexpectedAnswerCause } from '../failure/failure-cause.ts';
import type { AttemptFailure, PreparedCall, QuotaWindow } from '../format-definition.ts';
import { toWindow, withLaterQuotas } from '../quotas.ts';
import { UpstreamError } from '../upstream/upstream-exchange.ts';
import { AnswerTurns } from './answer-turns.ts';
import {
  answerToPassOn,
  brokenAnswer,
  type ExecuteResultInit,
  failedAttempt,
  failureOfExchange,
} from './execute-result.ts';
import { type ExecuteFrame, FrameWriter, hasProduced } from './frame-writer.ts';
import { isEventStream, Opening, type SuccessfulAnswer } from './open-answer.ts';
import { type AnswerFacts, ProviderCalls, toErrorType } from './provider-calls.ts';
import { finalUsage, usageSoFar } from './usage-report.ts';

/** A request that is ready to be sent. */
export interface AttemptedRequest {
  readonly requestId: string;
  readonly lease: Lease;
  /** Size of the client's body. */
  readonly bodyBytes: number;
  /** See `estimateInputTokens`. */
  readonly estimatedTokens: number;
  readonly prepared: PreparedCall;
  /** See `Translator.passesErrorsOn`. */
  readonly passesErrorsOn: boolean;
}

/**
 * One request at one account. Its frames:
 * - that it was sent, with the minimum usage that this costs;
 * - usage, as soon as the provider answers with success: from here on something is used;
 * - usage again, while an answer without content yet grows;
 * - head, bytes and usage, at the first content; bytes and usage after that;
 * - the result, with the last bytes.
 *
 * What comes in one read of the provider's answer is one frame. A failure before the head allows
 * another attempt. Aborting the signal, or no longer reading the frames, cancels the provider's
 * request at once.
 */
export async function* attemptFrames(
  context: AdapterContext,
  prepare: () => Promise<AttemptedRequest>,
  signal: AbortSignal,
): AsyncGenerator<ExecuteFrame, undefined> {
  using attempt = new Attempt(context, await prepare(), signal);
  for (;;) {
    let state: Awaited<AttemptStep<AttemptState>> = await attempt.send();
    while (state === 'sent') {
      yield attempt.sentFrame();
      state = await attempt.open();
    }
    while (state === 'continues') {
      for (const frame of attempt.newFrames()) yield frame;
      state = await attempt.readOn();
    }
    if (state === 'complete') {
      for (const frame of attempt.conclude()) yield frame;
      return;
    }
    const call = await attempt.amendedCall(state);
    const usage = call === undefined ? attempt.lastUsage(state) : attempt.amend(call, state);
    if (usage !== undefined) yield usage;
    if (call === undefined) {
      for (const frame of attempt.fail(state)) yield frame;
      return;
    }
  }
}

/**
 * The state of an attempt. `sent`: the request was sent to the provider. `continues`: the answer
 * has a new part, and more follows. `complete`: the next frame completes the client's answer.
 * Otherwise the failure.
 */
type AttemptStep<Reached extends AttemptState> = Promise<Reached | AttemptFailure>;
type AttemptState = 'sent' | 'continues' | 'complete';

class Attempt implements Disposable {
  readonly #context: AdapterContext;
  readonly #request: AttemptedRequest;
  readonly #signal: AbortSignal;
  readonly #frames: FrameWriter;
  readonly #calls: ProviderCalls;
  #call: PreparedCall;
  #opening: Opening;
  #opened: SuccessfulAnswer | undefined;
  #hasBegun = false;
  #receivedBytes = 0;
  readonly #turns = new AnswerTurns();
  #quotas: readonly QuotaWindow[] = [];
  #amended = '';
  #result: AttemptResult | undefined;

  constructor(context: AdapterContext, request: AttemptedRequest, signal: AbortSignal) {
    this.#context = context;
    this.#request = request;
    this.#signal = signal;
    this.#call = request.prepared;
    this.#frames = new FrameWriter(request.estimatedTokens);
    this.#calls = new ProviderCalls(context, 'chat', request.lease);
    this.#opening = this.#newOpening();
  }

  async send(): AttemptStep<'sent'> {
    try {
      return (await this.#opening.send(this.#call)) ?? 'sent';
    } catch (thrown) {
      return this.#failureOf(thrown);
    }
  }

  sentFrame(): ExecuteFrame {
    return this.#frames.sent(this.#call.answer);
  }

  /** Waits for the head of the answer. `sent`: the request was sent again with a newer secret. */
  async open(): AttemptStep<'sent' | 'continues'> {
    const { answer } = this.#call;
    try {
      const opened = await this.#opening.answer();
      if (opened === undefined) return this.send();
      this.#quotas = opened.quotas;
      if (opened.failure !== undefined) return this.#forRequest(opened.failure);
      this.#opened = opened;
    } catch (thrown) {
      return this.#failureOf(thrown);
    }
    answer.onHead?.(this.#opened.head);
    this.#frames.usageIsDue = true;
    return 'continues';
  }

  /** Passes the next bytes, or the end, to the reader. */
  async readOn(): AttemptStep<'continues' | 'complete'> {
    const { answer } = this.#call;
    try {
      const chunks = await this.#opened?.exchange.read();
      await this.#push(chunks);
      const { result } = answer;
      if (answer.hasContent && !this.#frames.hasHead && isEventStream(answer.head)) this.#calls.onContent();
      if (result?.kind === 'failed' && !result.isRelayed) return this.#forRequest(result.failure);
      if (result !== undefined) return 'complete';
      if (chunks === undefined) throw new UpstreamError('malformed', 'The answer ended early.');
      this.#limitSilence();
      if (!this.#frames.hasHead) this.#checkPreamble(chunks);
      return 'continues';
    } catch (thrown) {
      return this.#failureOf(thrown);
    }
  }

  /**
   * The new part of an answer that continues. Before the first content it is held and sent with
   * later bytes.
   */
  newFrames(): readonly ExecuteFrame[] {
    const { answer } = this.#call;
    return this.#opened?.exchange.hasMore && !answer.hasContent ? [] : this.#frames.progress(answer);
  }

  /**
   * The client receives the whole answer, even one that ends with the provider's own error event.
   */
  conclude(): readonly ExecuteFrame[] {
    this.#opened?.exchange.release();
    const { answer } = this.#call;
    const { result: read, encryptedReasoning = '', affinityMissed = false } = answer;
    const failure = read?.kind === 'failed' ? this.#forRequest(read.failure) : undefined;
    const usage = finalUsage(answer, this.#request.estimatedTokens);
    this.#end(failure?.result ?? AttemptResult.SUCCEEDED, { answer, usage });
    const succeeded = {
      result: AttemptResult.SUCCEEDED,
      upstreamStatus: this.#opened?.head.status ?? 0,
      affinityMissed,
    };
    const error = failure && toErrorDetail(brokenAnswer(failure));
    const result =
      failure === undefined
        ? this.#resultOf(succeeded, { encryptedReasoning })
        : this.#resultOf(failedAttempt(failure), { error, answerComplete: true });
    return this.#frames.whole(answer, result);
  }

  /** The usage of a failed answer, if no frame has reported it. */
  lastUsage(failure: AttemptFailure): ExecuteFrame | undefined {
    return this.#frames.lastUsage(this.#call.answer, isTooLarge(failure));
  }

  /**
   * The last frames of a failed attempt: with the head sent, the remaining bytes and an error;
   * otherwise only the result.
   */
  fail(failure: AttemptFailure): readonly ExecuteFrame[] {
    this.#end(failure.result);
    this.#opening[Symbol.dispose]();
    const attempt = { ...failedAttempt(failure), ...this.#causeOfHead(failure) };
    if (this.#frames.hasHead) {
      // The gateway wrote this message, so clients may see it.
      const error = toErrorDetail(isTooLarge(failure) ? failure.error : brokenAnswer(failure));
      return this.#frames.broken(this.#call.answer, this.#resultOf(attempt, { error }));
    }
    // For the client, if no other attempt is made.
    const error = toErrorDetail(failure.error);
    const upstreamAnswer = this.#request.passesErrorsOn ? answerToPassOn(failure) : undefined;
    return [{ result: this.#resultOf(attempt, { error, upstreamAnswer }) }];
  }

  /**
   * The call without what the provider refuses, if the request can do without it: at most once, and
   * only before the first content.
   */
  async amendedCall(failure: AttemptFailure): Promise<PreparedCall | undefined> {
    return this.#frames.hasHead || this.#amended !== '' ? undefined : this.#call.amend?.(failure);
  }

  /** Continues with the amended call. Returns the usage of the previous call, if it is due. */
  amend(call: PreparedCall, { result, meaning = 'rejected' }: AttemptFailure): ExecuteFrame | undefined {
    const { metrics, logger } = this.#context;
    const { requestId, lease } = this.#request;
    this.#calls.end(toErrorType(result), this.#factsSoFar);
    metrics.requestAmended(meaning);
    logger.info({ request_id: requestId, pool: lease.pool, meaning }, 'retrying without what the provider refused');
    const usage = this.#frames.dueUsage(this.#call.answer);
    this.#opening[Symbol.dispose]();
    this.#opened = undefined;
    this.#opening = this.#newOpening();
    this.#hasBegun = false;
    this.#receivedBytes = 0;
    this.#amended = meaning;
    this.#call = call;
    return usage;
  }

  /**
   * An answer without content that is not a stream, although one was requested, is not broken: it
   * comes from something else.
   */
  #causeOfHead({ result }: AttemptFailure): { readonly cause?: string } {
    const head = this.#opened?.head;
    const { answer } = this.#call;
    const isOther = head !== undefined && isEventStream(answer.head) && !isEventStream(head);
    return isOther && !answer.hasContent && result === AttemptResult.SERVER_ERROR
      ? { cause: unexpectedAnswerCause(head) }
      : {};
  }

  #forRequest(failure: AttemptFailure): AttemptFailure {
    return this.#call.choosesTier ? failureOfChoice(failure) : failure;
  }

  #newOpening(): Opening {
    const { firstByteTimeoutMs: timeoutMs } = this.#context.config;
    return new Opening(this.#context, this.#request, { timeoutMs, signal: this.#signal, calls: this.#calls });
  }

  /** Cancels the provider's request, unless the attempt is over. */
  [Symbol.dispose](): void {
    this.#end(AttemptResult.CANCELLED);
    this.#opening[Symbol.dispose]();
  }

  /** What the reader throws does not matter once it has a result. */
  async #push(chunks: readonly Uint8Array[] | undefined): Promise<void> {
    const { answer } = this.#call;
    try {
      if (chunks === undefined) answer.end();
      else await this.#turns.push(answer, chunks);
    } catch (cause) {
      // Only the name, because the message may contain the provider's text.
      const reason = cause instanceof Error ? cause.name : typeof cause;
      const fields = { request_id: this.#request.requestId, reason };
      this.#context.logger.warn(fields, 'a provider answer could not be parsed');
      if (answer.result === undefined) throw new UpstreamError('malformed', 'It could not be parsed.', { cause });
    }
  }

  /**
   * Once the model has produced output, silence is limited instead of the total time. While it
   * reasons, it may be silent for as long as the first content may take.
   */
  #limitSilence(): void {
    const { firstByteTimeoutMs, idleTimeoutMs } = this.#context.config;
    const { answer } = this.#call;
    this.#hasBegun ||= hasProduced(answer);
    if (this.#hasBegun)
      this.#opened?.exchange.limitSilence(answer.reasoning === 'open' ? firstByteTimeoutMs : idleTimeoutMs);
  }

  /**
   * Bounds what arrives before the client has any part of the answer. Once the model has produced
   * output, its text and reasoning are bounded instead of all bytes; readers bound what they keep
   * themselves. The same applies to an incomplete event, which may be the first content.
   */
  #checkPreamble(chunks: readonly Uint8Array[]): void {
    const { config } = this.#context;
    const { hasContent, producedCharacters, pendingBytes = 0 } = this.#call.answer;
    this.#receivedBytes += chunks.reduce((sum, { length }) => sum + length, 0);
    const isPreamble = !this.#hasBegun && this.#opened !== undefined && isEventStream(this.#opened.head);
    if (isPreamble && this.#receivedBytes - pendingBytes > config.maxPreambleBytes + 4 * this.#request.bodyBytes) {
      throw new UpstreamError('malformed', 'The provider sent too much before the first content.');
    }
    if (!hasContent && producedCharacters > config.maxAnswerBytes) {
      throw new UpstreamError('too_large', 'The answer is too large.');
    }
  }

  /**
   * Throws anything that is not a failure of the exchange: then the fault is in this code, not in
   * the account.
   */
  #failureOf(thrown: unknown): AttemptFailure {
    if (thrown instanceof UpstreamError) return failureOfExchange(thrown, this.#opened !== undefined);
    throw thrown;
  }

  #resultOf(
    attempt: Partial<ReturnType<typeof failedAttempt>>,
    details: Omit<ExecuteResultInit, 'attempt' | '$typeName'>,
  ): ExecuteResultInit {
    const windows = withLaterQuotas(this.#quotas, this.#call.answer.quotas ?? []).map(toWindow);
    const known = { windows, answerBegan: this.#opened !== undefined, providerRequestId: this.#calls.requestId };
    return { attempt: { ...attempt, ...known }, amended: this.#amended, ...details };
  }

  /** Undefined until the provider answers with success. */
  get #factsSoFar(): AnswerFacts | undefined {
    const { answer } = this.#call;
    return this.#opened && { answer, usage: usageSoFar(answer, this.#request.estimatedTokens) };
  }

  #end(result: AttemptResult, facts?: AnswerFacts): void {
    if (this.#result !== undefined) return;
    this.#result = result;
    this.#context.metrics.attemptEnded(result);
    this.#context.metrics.unknownEventsSkipped(this.#call.answer.unknownEvents ?? 0);
    this.#calls.end(toErrorType(result), facts ?? this.#factsSoFar);
  }
}

function isTooLarge({ result }: AttemptFailure): boolean {
  return result === AttemptResult.ANSWER_TOO_LARGE;
}
