import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import type { AnswerListener, ToldCall } from '@gateway/rpc';
import type { AdapterContext } from '../adapter-context.ts';
import type { ProviderAccount } from '../credentials/credential-cache.ts';
import type { PreparedCall, UpstreamFailure } from '../provider-format.ts';
import { ExchangeReader } from '../upstream/exchange-reader.ts';
import { UpstreamError } from '../upstream/upstream-error.ts';
import type { ExchangeListener, UpstreamExchange, UpstreamHead } from '../upstream/upstream-exchange.ts';
import { AnswerFrames, type ExecuteFrame, partsOf } from './answer-frames.ts';
import { AnswerIntake } from './answer-intake.ts';
import { answerToPassOn, failureOfExchange, unavailable } from './attempt-failure.ts';
import type { AttemptedCall } from './attempted-call.ts';
import { failedExecution, wholeExecution } from './execution-outcome.ts';
import {
  isProviderAnswer,
  type OpenedAnswer,
  type OpenOptions,
  openAnswer,
  openSent,
  type Sent,
  sendCall,
} from './open-answer.ts';
import { type QuotaReport, readQuotas, withLaterQuotas } from './read-quotas.ts';

/**
 * One request at one account, told in frames:
 * - that it was sent, with the usage that this costs at least;
 * - usage, as soon as the provider answers with success: from here on something is used;
 * - usage again, while an answer without content yet grows;
 * - head, bytes and usage, at the first content; bytes and usage after that;
 * - the outcome, with the last bytes.
 *
 * What comes within one turn of the event loop is told at its end, in one frame: an answer that is there in one read is one
 * frame. No head has gone out before the outcome of a failure means that another attempt may be made.
 *
 * It listens to its exchange: the methods that begin with `on` are for that.
 */
export class Attempt implements ToldCall, ExchangeListener {
  readonly #context: AdapterContext;
  readonly #request: AttemptedCall;
  readonly #frames: AnswerFrames;
  /** Undefined once nobody is to be told any more. */
  #listener: AnswerListener<ExecuteFrame> | undefined;
  #call: PreparedCall;
  #account: ProviderAccount | undefined;
  #exchange: UpstreamExchange | undefined;
  #upstreamStatus = 0;
  /** From the head of the provider's answer on. */
  #intake: AnswerIntake | undefined;
  #quotas: QuotaReport = [];
  /** What the provider told in place of an answer. */
  #refusal: UpstreamFailure | undefined;
  /** Why the exchange broke off. */
  #broken: UpstreamError | undefined;
  #result: AttemptResult | undefined;
  #amended = '';
  /** To be told before all else. */
  #kept: ExecuteFrame | undefined;
  #isTurnAwaited = false;
  #isPaused = false;
  /** For what is waited for: aborted when the caller leaves. */
  #leaving: AbortController | undefined;

  constructor(context: AdapterContext, call: AttemptedCall, listener: AnswerListener<ExecuteFrame>) {
    this.#context = context;
    this.#request = call;
    this.#call = call.prepared;
    this.#frames = new AnswerFrames(call.estimatedTokens);
    this.#listener = listener;
  }

  /** Sends the request: at once, when the account's secret is at hand. */
  begin(): void {
    const { credentials } = this.#context;
    const account = credentials.cached(this.#request.lease.accountId);
    if (account === undefined) {
      void this.#openSlowly((options) => openAnswer(this.#context, this.#request, this.#call, options));
      return;
    }
    this.#account = account;
    const { firstByteTimeoutMs: timeoutMs } = this.#context.config;
    this.#exchange = sendCall(this.#context, this.#call, { account, listener: this, timeoutMs, onSent: this.#onSent });
    if (this.#isPaused) this.#exchange.pause();
  }

  /** Cancels the provider's request, unless the attempt is over. */
  cancel(): void {
    this.#listener = undefined;
    this.#end(AttemptResult.CANCELLED);
    this.#leaving?.abort();
    this.#exchange?.[Symbol.dispose]();
  }

  pause(): void {
    this.#isPaused = true;
    this.#exchange?.pause();
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#exchange?.resume();
    this.#awaitTurn();
  }

  onHead(head: UpstreamHead): void {
    const [account, exchange] = [this.#account, this.#exchange];
    if (account === undefined || exchange === undefined) return;
    if (isProviderAnswer(head)) {
      this.#onAnswering(exchange, head, readQuotas(this.#context, this.#request.lease.model, head));
    } else {
      this.#onRefusing({ account, head, answer: new ExchangeReader((listener) => exchange.tell(listener), head) });
    }
  }

  onBytes(bytes: Buffer): void {
    if (this.#isSettled) return;
    try {
      this.#intake?.push(bytes, !this.#frames.hasHead);
    } catch (thrown) {
      this.#breakOff(thrown);
    }
    this.#awaitTurn();
  }

  onEnd(): void {
    if (this.#isSettled) return;
    try {
      this.#keepContent();
      this.#intake?.end();
    } catch (thrown) {
      this.#breakOff(thrown);
    }
    this.#awaitTurn();
  }

  onError(error: UpstreamError): void {
    if (this.#isSettled) return;
    try {
      this.#keepContent();
    } catch (thrown) {
      this.#fault(thrown);
    }
    this.#broken = error;
    this.#awaitTurn();
  }

  /** True when what still comes makes no difference. */
  get #isSettled(): boolean {
    return this.#result !== undefined || this.#broken !== undefined;
  }

  readonly #onSent = (): void => {
    this.#frames.sentIsDue();
    this.#awaitTurn();
  };

  #onAnswering(exchange: UpstreamExchange, head: UpstreamHead, quotas: QuotaReport): void {
    const { requestId, bodyBytes } = this.#request;
    const { answer } = this.#call;
    this.#intake = new AnswerIntake({ context: this.#context, requestId, bodyBytes, exchange, head, answer });
    this.#upstreamStatus = head.status;
    this.#quotas = quotas;
    answer.onHead?.(head);
    this.#frames.usageIsDue();
    this.#awaitTurn();
  }

  /** Why, and whether a newer secret helps, takes some waiting. */
  #onRefusing(sent: Sent): void {
    void this.#openSlowly((options) => openSent(this.#context, this.#request, this.#call, { sent, ...options }));
  }

  async #openSlowly(open: (options: OpenOptions) => Promise<OpenedAnswer>): Promise<void> {
    const timeoutMs = this.#context.config.firstByteTimeoutMs;
    this.#leaving ??= new AbortController();
    try {
      this.#onOpened(await open({ timeoutMs, signal: this.#leaving.signal, onSent: this.#onSent }));
    } catch (thrown) {
      if (thrown instanceof UpstreamError) this.onError(thrown);
      else this.#fault(thrown);
    }
  }

  #onOpened(opened: OpenedAnswer): void {
    if (opened.kind === 'failed') {
      this.#quotas = opened.quotas;
      this.#refusal = opened.failure;
      this.#awaitTurn();
    } else if (this.#result !== undefined) {
      opened.answer[Symbol.dispose]();
    } else {
      this.#exchange = opened.answer.exchange;
      this.#onAnswering(this.#exchange, opened.head, opened.quotas);
      opened.answer.handOver(this);
      if (this.#isPaused) this.#exchange.pause();
    }
  }

  /** The connection ends in the same turn as the answer has its first content: the client gets that all the same. */
  #keepContent(): void {
    const { answer } = this.#call;
    if (answer.hasContent && answer.ending === undefined) this.#kept ??= this.#frames.progress(answer);
  }

  /** Nothing that still comes can be of use. */
  #breakOff(thrown: unknown): void {
    if (!(thrown instanceof UpstreamError)) return this.#fault(thrown);
    this.#broken = thrown;
    this.#exchange?.[Symbol.dispose]();
  }

  #awaitTurn(): void {
    if (this.#isTurnAwaited) return;
    this.#isTurnAwaited = true;
    // queueMicrotask does the same, and makes an asynchronous resource for it.
    void endOfTurn.then(this.#onTurnEnd);
  }

  readonly #onTurnEnd = (): void => {
    this.#isTurnAwaited = false;
    if (this.#isPaused || this.#result !== undefined) return;
    try {
      this.#tellTurn();
    } catch (thrown) {
      // What a listener throws that has left is nobody's failure.
      if (this.#listener === undefined) throw thrown;
      this.#fault(thrown);
    }
  };

  #tellTurn(): void {
    this.#tell(this.#frames.dueSent(this.#call.answer));
    if (this.#result !== undefined) return;
    this.#tell(this.#kept);
    this.#kept = undefined;
    if (this.#result !== undefined) return;
    const { answer } = this.#call;
    const { ending } = answer;
    if (this.#refusal !== undefined) this.#failOrAmend(this.#refusal);
    else if (ending?.kind === 'failed' && ending.isRelayed) this.#conclude(ending.failure);
    else if (ending?.kind === 'failed') this.#failOrAmend(ending.failure);
    else if (ending !== undefined) this.#conclude();
    else if (this.#broken !== undefined) this.#fail(failureOfExchange(this.#broken, this.#intake !== undefined));
    else if (this.#intake !== undefined) this.#tell(this.#frames.progress(answer));
  }

  /** A provider that complains of something which the request can do without gets it once more without. */
  #failOrAmend(failure: UpstreamFailure): void {
    const call = this.#frames.hasHead || this.#amended !== '' ? undefined : this.#call.amend?.(failure);
    if (call === undefined) return this.#fail(failure);
    const { metrics, logger } = this.#context;
    const { requestId, lease } = this.#request;
    const { meaning = 'rejected' } = failure;
    metrics.requestAmended(meaning);
    logger.info({ requestId, pool: lease.pool, meaning }, 'sent again without what the provider refused');
    this.#tellDueUsage();
    if (this.#result === undefined) this.#beginAnew(call, meaning);
  }

  #beginAnew(call: PreparedCall, amended: string): void {
    this.#exchange?.[Symbol.dispose]();
    this.#call = call;
    this.#amended = amended;
    this.#intake = undefined;
    this.#refusal = undefined;
    this.#broken = undefined;
    this.begin();
  }

  /** The client gets the whole answer, also one that ends with the provider's word of its failure. */
  #conclude(failure?: UpstreamFailure): void {
    this.#exchange?.release();
    this.#end(failure?.result ?? AttemptResult.SUCCEEDED);
    const { answer } = this.#call;
    const outcome = wholeExecution(failure, {
      upstreamStatus: this.#upstreamStatus,
      quotas: this.#allQuotas(),
      sealedReasoning: answer.sealedReasoning ?? '',
      amended: this.#amended,
    });
    this.#tellLast(this.#frames.whole(answer, outcome));
  }

  /** Ends the attempt. A failure after the head has gone out keeps the bytes so far; the client gets generic words for it. */
  #fail(failure: UpstreamFailure): void {
    const isTooLarge = failure.result === AttemptResult.ANSWER_TOO_LARGE;
    if (isTooLarge) this.#tell(this.#frames.usage(this.#call.answer));
    else this.#tellDueUsage();
    if (this.#result !== undefined) return;
    this.#end(failure.result);
    this.#exchange?.[Symbol.dispose]();
    const details = this.#failureDetails();
    const { answer } = this.#call;
    if (this.#frames.hasHead) {
      // These words are ours, and say what to do.
      const error = isTooLarge ? failure.error : unavailable(failure.error);
      this.#tellLast(this.#frames.broken(answer, failedExecution(failure, error, details)));
    } else {
      const upstreamAnswer = this.#request.passesErrorsOn ? answerToPassOn(failure) : undefined;
      this.#tellLast(this.#frames.failed(failedExecution(failure, failure.error, { ...details, upstreamAnswer })));
    }
  }

  #failureDetails() {
    return { quotas: this.#allQuotas(), amended: this.#amended, answerBegan: this.#intake !== undefined };
  }

  /** What the answer told of the account's quotas, in its head and after it. */
  #allQuotas(): QuotaReport {
    const { quotas } = this.#call.answer;
    return quotas === undefined || quotas.length === 0 ? this.#quotas : withLaterQuotas(this.#quotas, quotas);
  }

  #tellDueUsage(): void {
    this.#tell(this.#frames.dueUsage(this.#call.answer));
  }

  #tell(frame: ExecuteFrame | undefined): void {
    if (frame === undefined) return;
    for (const part of partsOf(frame)) this.#listener?.onAnswer(part);
  }

  #tellLast(frame: ExecuteFrame): void {
    this.#tell(frame);
    const listener = this.#listener;
    this.#listener = undefined;
    listener?.onEnd();
  }

  /** Something here is at fault: that is the call's failure, not the account's. */
  #fault(thrown: unknown): void {
    const listener = this.#listener;
    this.cancel();
    listener?.onFailure(thrown);
  }

  #end(result: AttemptResult): void {
    if (this.#result !== undefined) return;
    this.#result = result;
    this.#context.metrics.attemptEnded(result);
    this.#context.metrics.unknownEventsSkipped(this.#call.answer.unknownEvents ?? 0);
  }
}

const endOfTurn = Promise.resolve();
