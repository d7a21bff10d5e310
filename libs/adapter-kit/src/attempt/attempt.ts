import type { Lease } from '@gateway/proto/pool/v1/account_pb.js';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import type { AdapterContext } from '../adapter-context.ts';
import type { PreparedCall, QuotaWindow, UpstreamFailure } from '../provider-format.ts';
import { UpstreamError } from '../upstream/upstream-error.ts';
import type { UpstreamExchange, UpstreamHead } from '../upstream/upstream-exchange.ts';
import { AnswerFrames, type ExecuteFrame, partsOf } from './answer-frames.ts';
import { type OpenedAnswer, openAnswer } from './open-answer.ts';
import {
  answerToPassOn,
  failedOutcome,
  failureOfExchange,
  succeededOutcome,
  unavailable,
  withLaterQuotas,
} from './outcome.ts';

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
 * - that it was sent, with the usage that this costs at least;
 * - usage, as soon as the provider answers with success: from here on something is used;
 * - usage again, while an answer without content yet grows;
 * - head, bytes and usage, at the first content; bytes and usage after that;
 * - the outcome, with the last bytes.
 *
 * What comes in one read of the provider's answer is one frame. No head goes out before the outcome of a failure means that
 * another attempt may be made. Aborting the signal, or leaving the frames, cancels the provider's request at once.
 */
export class Attempt {
  readonly #context: AdapterContext;
  readonly #request: AttemptedRequest;
  readonly #signal: AbortSignal;
  readonly #frames: AnswerFrames;
  #call: PreparedCall;
  #exchange: UpstreamExchange | undefined;
  #upstreamStatus = 0;
  /** The provider answers with success. */
  #answerBegan = false;
  #quotas: readonly QuotaWindow[] = [];
  #amended = '';
  #result: AttemptResult | undefined;

  constructor(context: AdapterContext, request: AttemptedRequest, signal: AbortSignal) {
    this.#context = context;
    this.#request = request;
    this.#signal = signal;
    this.#call = request.prepared;
    this.#frames = new AnswerFrames(request.estimatedTokens);
  }

  async *frames(): AsyncGenerator<ExecuteFrame, undefined> {
    try {
      let failure = yield* this.#exchangeOnce();
      const call = failure && !this.#frames.hasHead ? this.#call.amend?.(failure) : undefined;
      if (failure !== undefined && call !== undefined) {
        yield* this.#dueUsage();
        this.#amend(call, failure);
        failure = yield* this.#exchangeOnce();
      }
      if (failure !== undefined) yield* this.#fail(failure);
    } finally {
      this.#end(AttemptResult.CANCELLED);
      this.#exchange?.[Symbol.dispose]();
    }
  }

  /** Sends the call and reads its answer. Returns why it failed; undefined when the client has a whole answer. */
  async *#exchangeOnce(): AsyncGenerator<ExecuteFrame, UpstreamFailure | undefined> {
    const { answer } = this.#call;
    try {
      const opened = yield* openAnswer(this.#context, this.#request, this.#call, {
        timeoutMs: this.#context.config.firstByteTimeoutMs,
        signal: this.#signal,
        sentFrame: () => this.#frames.sent(answer),
      });
      this.#quotas = opened.quotas;
      return opened.kind === 'failed' ? opened.failure : yield* this.#read(opened);
    } catch (thrown) {
      if (!(thrown instanceof UpstreamError)) throw thrown;
      return failureOfExchange(thrown, this.#answerBegan);
    }
  }

  async *#read({ exchange, head }: Extract<OpenedAnswer, { kind: 'answering' }>) {
    const { answer } = this.#call;
    this.#exchange = exchange;
    this.#upstreamStatus = head.status;
    this.#answerBegan = true;
    answer.onHead?.(head);
    this.#frames.usageIsDue();
    const bounds = new PreambleBounds(this.#context.config, this.#request.bodyBytes, head);
    while (true) {
      if (!exchange.hasMore) yield* this.#dueUsage();
      const chunks = await exchange.read();
      this.#push(chunks);
      const { ending } = answer;
      if (ending?.kind === 'failed' && !ending.isRelayed) return ending.failure;
      if (ending !== undefined)
        return yield* this.#conclude(exchange, ending.kind === 'failed' ? ending.failure : undefined);
      if (chunks === undefined) throw new UpstreamError('malformed', 'The answer ended early.');
      if (!this.#frames.hasHead) bounds.check(answer, chunks, exchange);
      const frame = this.#frames.progress(answer);
      if (frame !== undefined) yield* partsOf(frame);
    }
  }

  /** Hands the reader what one read brought, or the end. What it throws does not matter once it has the ending. */
  #push(chunks: readonly Uint8Array[] | undefined): void {
    const { answer } = this.#call;
    try {
      if (chunks !== undefined) for (const chunk of chunks) answer.push(chunk);
      else answer.end();
    } catch (cause) {
      // Only the name: the text may be the provider's.
      const reason = cause instanceof Error ? cause.name : typeof cause;
      this.#context.logger.warn({ requestId: this.#request.requestId, reason }, 'an answer could not be read');
      if (answer.ending === undefined) throw new UpstreamError('malformed', 'The answer could not be read.', { cause });
    }
  }

  /** A provider that complains of something which the request can do without gets it once more without. */
  #amend(call: PreparedCall, { meaning = 'rejected' }: UpstreamFailure): void {
    const { metrics, logger } = this.#context;
    const { requestId, lease } = this.#request;
    metrics.requestAmended(meaning);
    logger.info({ requestId, pool: lease.pool, meaning }, 'sent again without what the provider refused');
    this.#exchange?.[Symbol.dispose]();
    this.#amended = meaning;
    this.#answerBegan = false;
    this.#call = call;
  }

  /** The client gets the whole answer, also one that ends with the provider's word of its failure. */
  async *#conclude(exchange: UpstreamExchange, failure: UpstreamFailure | undefined) {
    exchange.release();
    this.#end(failure?.result ?? AttemptResult.SUCCEEDED);
    const { answer } = this.#call;
    const details = this.#outcomeDetails();
    const outcome =
      failure === undefined
        ? succeededOutcome(details, {
            upstreamStatus: this.#upstreamStatus,
            sealedReasoning: answer.sealedReasoning ?? '',
          })
        : failedOutcome(failure, unavailable(failure.error), { ...details, answerBegan: true, answerComplete: true });
    yield* partsOf(this.#frames.whole(answer, outcome));
    return undefined;
  }

  /** A failure after the head has gone out keeps the bytes so far; the client gets generic words for it. */
  async *#fail(failure: UpstreamFailure): AsyncGenerator<ExecuteFrame, undefined> {
    const { answer } = this.#call;
    const isTooLarge = failure.result === AttemptResult.ANSWER_TOO_LARGE;
    if (isTooLarge) yield this.#frames.usage(answer);
    else yield* this.#dueUsage();
    this.#end(failure.result);
    this.#exchange?.[Symbol.dispose]();
    const details = { ...this.#outcomeDetails(), answerBegan: this.#answerBegan };
    if (this.#frames.hasHead) {
      // These words are ours, and say what to do.
      const error = isTooLarge ? failure.error : unavailable(failure.error);
      yield* partsOf(this.#frames.broken(answer, failedOutcome(failure, error, details)));
    } else {
      const upstreamAnswer = this.#request.passesErrorsOn ? answerToPassOn(failure) : undefined;
      yield { outcome: failedOutcome(failure, failure.error, { ...details, upstreamAnswer }) };
    }
  }

  *#dueUsage(): Generator<ExecuteFrame> {
    const frame = this.#frames.dueUsage(this.#call.answer);
    if (frame !== undefined) yield frame;
  }

  #outcomeDetails() {
    const { quotas: later = [] } = this.#call.answer;
    return { quotas: withLaterQuotas(this.#quotas, later), amended: this.#amended };
  }

  #end(result: AttemptResult): void {
    if (this.#result !== undefined) return;
    this.#result = result;
    this.#context.metrics.attemptEnded(result);
    this.#context.metrics.unknownEventsSkipped(this.#call.answer.unknownEvents ?? 0);
  }
}

/** Bounds what may come before the client has something of the answer. */
class PreambleBounds {
  readonly #config: AdapterContext['config'];
  readonly #maxBytes: number;
  #bytes = 0;
  #hasBegun = false;

  constructor(config: AdapterContext['config'], bodyBytes: number, { headers }: UpstreamHead) {
    this.#config = config;
    const isEventStream = headers['content-type']?.toLowerCase().startsWith('text/event-stream');
    this.#maxBytes = isEventStream ? config.maxPreambleBytes + 4 * bodyBytes : Number.POSITIVE_INFINITY;
  }

  /**
   * Once the model writes something, silence is limited in place of the whole time, and what the model writes in place of all
   * bytes: what readers keep is bounded by themselves.
   */
  check(
    { hasContent, producedCharacters }: PreparedCall['answer'],
    chunks: readonly Uint8Array[],
    exchange: UpstreamExchange,
  ): void {
    this.#bytes += chunks.reduce((sum, { length }) => sum + length, 0);
    if (!this.#hasBegun && (hasContent || producedCharacters > 0)) {
      this.#hasBegun = true;
      exchange.limitSilence(this.#config.idleTimeoutMs);
    }
    if (!this.#hasBegun && this.#bytes > this.#maxBytes) {
      throw new UpstreamError('malformed', 'Too much came before the first content.');
    }
    if (!hasContent && producedCharacters > this.#config.maxAnswerBytes) {
      throw new UpstreamError('too_large', 'The answer is too large.');
    }
  }
}
