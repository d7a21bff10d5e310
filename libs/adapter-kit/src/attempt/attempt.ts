import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { GatewayError } from '@gateway/errors';
import {
  type ExecuteOutcome,
  ExecuteOutcomeSchema,
  type ExecuteResponse,
  type ResponseHead,
  type UpstreamAnswerSchema,
  type Usage,
} from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { AccountProblem, AttemptResult, type Lease, QuotaWindowSchema } from '@gateway/proto/pool/v1/account_pb.js';
import type { AdapterContext } from '../adapter-context.ts';
import type { AnswerEnding, PreparedCall, UpstreamFailure } from '../provider-format.ts';
import { UpstreamError } from '../upstream/upstream-error.ts';
import type { UpstreamExchange, UpstreamHead } from '../upstream/upstream-exchange.ts';
import { answerToPassOn, failedOutcome, failureOfExchange, unavailable } from './attempt-failure.ts';
import { openAnswer } from './open-answer.ts';
import { type QuotaReport, withLaterQuotas } from './read-quotas.ts';
import { finalUsage, toUsageMessage, type UsageReport, usageSoFar } from './usage-report.ts';

/** What the caller of Execute is told at a time. Whole messages: a stream has hundreds, and each need not be completed. */
export type ExecuteFrame = ExecuteResponse;

function frameOf(fields: Omit<Partial<ExecuteResponse>, '$typeName'>): ExecuteFrame {
  return { $typeName: 'gateway.adapter.v1.ExecuteResponse', body: nothing, ...fields };
}

const nothing = new Uint8Array();

/** A request that is ready to be sent. */
export interface AttemptedCall {
  readonly requestId: string;
  readonly lease: Lease;
  /** Size of the client's body. */
  readonly bodyBytes: number;
  /** See `estimateInputTokens`. */
  readonly estimatedTokens: number;
  readonly prepared: PreparedCall;
}

export interface AttemptOptions {
  readonly context: AdapterContext;
  readonly call: AttemptedCall;
  /** See `Translator.passesErrorsOn`. */
  readonly passesErrorsOn: boolean;
  readonly signal: AbortSignal;
}

/**
 * One request at one account, told in frames:
 * - usage, as soon as the provider answers with success: from here on something is used;
 * - usage again, while an answer without content yet grows;
 * - head, bytes and usage, at the first content; bytes and usage after that, one frame for what one read brought;
 * - the outcome, with the last bytes.
 *
 * No head has gone out before the outcome of a failure means that another attempt may be made.
 * Disposing an attempt that is not over cancels the provider's request.
 */
export class Attempt implements Disposable {
  readonly #context: AdapterContext;
  readonly #request: AttemptedCall;
  #call: PreparedCall;
  readonly #passesErrorsOn: boolean;
  readonly #signal: AbortSignal;
  #exchange: UpstreamExchange | undefined;
  #upstream: UpstreamHead | undefined;
  #quotas: QuotaReport = [];
  #result: AttemptResult | undefined;
  #amended = '';
  #headSent = false;
  #answerBegan = false;
  #heldBytes = 0;
  #toldUsage: UsageReport | undefined;

  constructor({ context, call, passesErrorsOn, signal }: AttemptOptions) {
    this.#context = context;
    this.#request = call;
    this.#call = call.prepared;
    this.#passesErrorsOn = passesErrorsOn;
    this.#signal = signal;
  }

  /** Undefined after the outcome, and when the caller has given up. Throws when accounts can't be asked for. */
  async nextFrame(): Promise<ExecuteFrame | undefined> {
    if (this.#result !== undefined) return undefined;
    try {
      return this.#exchange === undefined ? await this.#open(this.#call) : await this.#readOn(this.#exchange);
    } catch (thrown) {
      if (!(thrown instanceof UpstreamError)) throw thrown;
      return thrown.kind === 'cancelled' ? undefined : this.#fail(failureOfExchange(thrown));
    }
  }

  [Symbol.dispose](): void {
    this.#end(AttemptResult.CANCELLED);
    this.#exchange?.[Symbol.dispose]();
  }

  async #open(call: PreparedCall): Promise<ExecuteFrame> {
    const timeoutMs = this.#context.config.firstByteTimeoutMs;
    const opened = await openAnswer(this.#context, this.#request, call, { timeoutMs, signal: this.#signal });
    this.#quotas = opened.quotas;
    if (opened.kind === 'failed') return this.#failOrAmend(opened.failure);
    this.#exchange = opened.exchange;
    this.#upstream = opened.head;
    call.answer.onHead?.(opened.head);
    return frameOf({ usage: this.#usageNow() });
  }

  /** A provider that complains of something which the request can do without gets it once more without. */
  async #failOrAmend(failure: UpstreamFailure): Promise<ExecuteFrame> {
    const call = this.#headSent || this.#amended !== '' ? undefined : this.#call.amend?.(failure);
    if (call === undefined) return this.#fail(failure);
    const { metrics, logger } = this.#context;
    const { requestId, lease } = this.#request;
    const { meaning = 'rejected' } = failure;
    metrics.requestAmended(meaning);
    logger.info({ requestId, pool: lease.pool, meaning }, 'sent again without what the provider refused');
    this.#exchange?.[Symbol.dispose]();
    this.#exchange = undefined;
    this.#amended = meaning;
    this.#call = call;
    this.#answerBegan = false;
    this.#heldBytes = 0;
    return this.#open(call);
  }

  async #readOn(exchange: UpstreamExchange): Promise<ExecuteFrame> {
    for (;;) {
      const chunks = exchange.take();
      if (chunks?.length === 0) {
        await exchange.change();
        continue;
      }
      this.#translate(chunks);
      const { ending } = this.#call.answer;
      if (ending !== undefined) return this.#conclude(exchange, ending);
      if (chunks === undefined) throw new UpstreamError('malformed', 'The answer ended early.');
      if (!this.#headSent) this.#watchHeld(exchange, chunks);
      const frame = this.#progress();
      if (frame !== undefined) return frame;
    }
  }

  /** Hands the answer to its reader, `undefined` being the end. */
  #translate(chunks: readonly Uint8Array[] | undefined): void {
    const { answer } = this.#call;
    try {
      if (chunks === undefined) return answer.end();
      // All of them: a relayed stream may say a last word after its end.
      for (const chunk of chunks) answer.push(chunk);
    } catch (cause) {
      const { requestId } = this.#request;
      this.#context.logger.warn({ requestId, reason: nameOf(cause) }, 'an answer could not be read');
      throw new UpstreamError('malformed', 'The answer could not be read.', { cause });
    }
  }

  /** Bounds what is held until the head goes out. Once the answer has begun, silence is limited instead of the whole time. */
  #watchHeld(exchange: UpstreamExchange, chunks: readonly Uint8Array[]): void {
    const { config } = this.#context;
    const { answer } = this.#call;
    for (const chunk of chunks) this.#heldBytes += chunk.length;
    if (!this.#answerBegan && (answer.hasContent || answer.producedCharacters > 0)) {
      this.#answerBegan = true;
      exchange.limitSilence(config.idleTimeoutMs);
    }
    const isPreamble = !this.#answerBegan && isEventStream(this.#upstream);
    const bound = isPreamble ? config.maxPreambleBytes + 4 * this.#request.bodyBytes : maxHeldBytes;
    if (this.#heldBytes > bound) throw new UpstreamError('malformed', 'Too much came before the first content.');
  }

  /** What there is to tell of an answer that goes on; undefined when nothing is new. */
  #progress(): ExecuteFrame | undefined {
    const body = this.#call.answer.take();
    if (body.length === 0) return this.#usageNews();
    if (this.#headSent) return frameOf({ body, usage: this.#usageNow() });
    return frameOf({ head: this.#head(), body, usage: this.#usageNow() });
  }

  /** Without bytes to go with it, usage is told in steps. */
  #usageNews(): ExecuteFrame | undefined {
    const told = this.#toldUsage;
    const usage = usageSoFar(this.#call.answer, this.#request.estimatedTokens);
    const isNews =
      told === undefined ||
      usage.inputTokens !== told.inputTokens ||
      usage.outputTokens - told.outputTokens >= usageStepTokens;
    return isNews ? frameOf({ usage: this.#tell(usage) }) : undefined;
  }

  #usageNow(): Usage {
    return this.#tell(usageSoFar(this.#call.answer, this.#request.estimatedTokens));
  }

  #tell(usage: UsageReport): Usage {
    this.#toldUsage = usage;
    return toUsageMessage(usage);
  }

  #head(): ResponseHead {
    this.#headSent = true;
    const { head, answerId } = this.#call.answer;
    return {
      $typeName: 'gateway.adapter.v1.ResponseHead',
      status: head.status,
      headers: { ...head.headers },
      answerId: answerId ?? '',
    };
  }

  async #conclude(exchange: UpstreamExchange, ending: AnswerEnding): Promise<ExecuteFrame> {
    if (ending.kind === 'failed') return this.#failOrAmend(ending.failure);
    exchange.release();
    this.#end(AttemptResult.SUCCEEDED);
    const { answer } = this.#call;
    return frameOf({
      ...(this.#headSent ? undefined : { head: this.#head() }),
      body: answer.take(),
      usage: this.#tell(finalUsage(answer, this.#request.estimatedTokens)),
      outcome: {
        $typeName: 'gateway.adapter.v1.ExecuteOutcome',
        attempt: {
          $typeName: 'gateway.pool.v1.AttemptOutcome',
          result: AttemptResult.SUCCEEDED,
          modelScoped: false,
          upstreamStatus: this.#upstream?.status ?? 0,
          windows: this.#allQuotas().map((window) => create(QuotaWindowSchema, window)),
          problem: AccountProblem.UNSPECIFIED,
        },
        sealedReasoning: answer.sealedReasoning ?? '',
        amended: this.#amended,
      },
    });
  }

  /** Ends the attempt. A failure after the head has gone out keeps the bytes so far; the client gets generic words for it. */
  #fail(failure: UpstreamFailure): ExecuteFrame {
    this.#exchange?.[Symbol.dispose]();
    this.#end(failure.result);
    const { answer } = this.#call;
    if (!this.#headSent) {
      const upstreamAnswer = this.#passesErrorsOn ? answerToPassOn(failure) : undefined;
      return frameOf({ outcome: this.#failedOutcome(failure, failure.error, upstreamAnswer) });
    }
    return frameOf({
      body: answer.take(),
      usage: this.#usageNow(),
      outcome: this.#failedOutcome(failure, unavailable(failure.error)),
    });
  }

  #failedOutcome(
    failure: UpstreamFailure,
    error: GatewayError,
    upstreamAnswer?: MessageInitShape<typeof UpstreamAnswerSchema>,
  ): ExecuteOutcome {
    const outcome = failedOutcome(failure, error, { upstreamAnswer, quotas: this.#allQuotas() });
    return create(ExecuteOutcomeSchema, { ...outcome, amended: this.#amended });
  }

  /** What the answer told of the account's quotas, in its head and after it. */
  #allQuotas(): QuotaReport {
    return withLaterQuotas(this.#quotas, this.#call.answer.quotas ?? []);
  }

  #end(result: AttemptResult): void {
    if (this.#result !== undefined) return;
    this.#result = result;
    this.#context.metrics.attemptEnded(result);
    this.#context.metrics.unknownEventsSkipped(this.#call.answer.unknownEvents ?? 0);
  }
}

/** What an answer that is sent whole may hold back. */
const maxHeldBytes = 64 * 1024 * 1024;
const usageStepTokens = 256;

/** Only the name: the text may be the provider's. */
function nameOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.name : typeof thrown;
}

function isEventStream(head: UpstreamHead | undefined): boolean {
  return head?.headers['content-type']?.toLowerCase().startsWith('text/event-stream') ?? false;
}
