import { AttemptResult, type Lease } from '@gateway/proto/pool/v1/account_pb.js';
import { type Attributes, failSpan, type Span, SpanKind, startSpan, traceparentOf } from '@gateway/telemetry';
import { monotonicMs } from '@gateway/time';
import type { AdapterContext } from '../adapter-context.ts';
import type { ProviderAccount } from '../credentials/credential-cache.ts';
import type { AnswerReader } from '../format-definition.ts';
import type { GenAiCall, GenAiOperation } from '../metrics.ts';
import type { UpstreamHead } from '../upstream/upstream-exchange.ts';
import type { UsageReport } from './usage-report.ts';

/** The usage of an answer, and what its reader knows about it. */
export interface AnswerFacts {
  readonly usage: UsageReport;
  readonly answer: AnswerReader;
}

/**
 * The calls to a provider within one RPC, one after the other, for metrics and traces: a secret
 * that is refused and replaced causes two calls. Each call ends exactly once. A call is a span in
 * the trace of its request; calls that the gateway makes on its own have none. Nothing that clients
 * or models write is included.
 */
export class ProviderCalls implements Disposable {
  readonly #context: Pick<AdapterContext, 'metrics' | 'config'>;
  readonly #call: GenAiCall;
  /** The id that the provider gave the latest call. Empty: none. */
  requestId = '';
  #underWay: { readonly span: Span; readonly startedMs: number; hasContent: boolean } | undefined;

  /** @param lease the requested model's lease; absent: no model */
  constructor(
    context: Pick<AdapterContext, 'metrics' | 'config'>,
    operation: GenAiOperation,
    lease?: Pick<Lease, 'model' | 'modelUnlisted'>,
  ) {
    this.#context = context;
    this.#call = { operation, model: lease?.modelUnlisted ? unlisted : (lease?.model ?? '') };
  }

  /**
   * Starts a call for a request that is about to be sent. Returns the headers that carry the trace,
   * if providers may receive it.
   */
  begin(account: ProviderAccount): Readonly<Record<string, string>> {
    const span = this.#startSpan(account);
    this.#underWay = { span, startedMs: monotonicMs(), hasContent: false };
    this.requestId = '';
    const traceparent = this.#context.config.sendsTraceparent ? traceparentOf(span) : undefined;
    return traceparent === undefined ? {} : { traceparent };
  }

  /** Called when the provider answers. */
  onHead({ status, headers }: UpstreamHead): void {
    [this.requestId = ''] = /^[\x21-\x7e]{1,128}$/.exec(headers['request-id'] ?? headers['x-request-id'] ?? '') ?? [];
    this.#underWay?.span.setAttribute('http.response.status_code', status);
  }

  /** Called when a streamed answer has content, at least once. */
  onContent(): void {
    const call = this.#underWay;
    if (call === undefined || call.hasContent) return;
    call.hasContent = true;
    const seconds = secondsSince(call.startedMs);
    this.#context.metrics.genAi.firstChunkCame(this.#call, seconds);
    call.span.addEvent('gen_ai.first_token').setAttribute('gen_ai.response.time_to_first_chunk', seconds);
  }

  /**
   * Ends the current call.
   * @param errorType see `toErrorType`
   * @param facts absent unless the provider answered with success
   */
  end(errorType: string, facts?: AnswerFacts): void {
    const call = this.#underWay;
    if (call === undefined) return;
    this.#underWay = undefined;
    const { span, startedMs } = call;
    this.#context.metrics.genAi.callEnded(this.#call, errorType, secondsSince(startedMs));
    if (facts !== undefined) this.#countTokens(facts);
    if (span.isRecording() && facts !== undefined) span.setAttributes(this.#attributesOf(facts));
    if (errorType !== '') failSpan(span, errorType);
    span.end();
  }

  /** Ends a call that was abandoned. */
  [Symbol.dispose](): void {
    this.end(toErrorType(AttemptResult.CANCELLED));
  }

  #startSpan({ host, port }: ProviderAccount): Span {
    const { operation, model } = this.#call;
    const span = startSpan(model === '' ? operation : `${operation} ${model}`, { kind: SpanKind.CLIENT });
    if (!span.isRecording()) return span;
    return span.setAttributes({
      'gen_ai.operation.name': operation,
      'gen_ai.provider.name': this.#context.metrics.genAi.provider,
      'gen_ai.request.model': model || undefined,
      'server.address': host,
      'server.port': port,
    });
  }

  /**
   * Leaves out estimates, and details whose count is zero.
   * @see https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/
   */
  #attributesOf({ usage, answer }: AnswerFacts): Attributes {
    const { finishReason, answerId, answeringModel } = answer;
    return {
      'gen_ai.response.id': answerId,
      // Providers may repeat a name that a client made up.
      'gen_ai.response.model': this.#call.model === unlisted ? undefined : answeringModel,
      'gen_ai.response.finish_reasons': finishReason && [finishReason],
      ...(!usage.estimated && {
        'gen_ai.usage.input_tokens': usage.inputTokens,
        'gen_ai.usage.output_tokens': usage.outputTokens,
        'gen_ai.usage.cache_read.input_tokens': usage.cachedTokens || undefined,
        'gen_ai.usage.cache_creation.input_tokens': cacheWritesOf(usage) || undefined,
        'gen_ai.usage.reasoning.output_tokens': usage.reasoningTokens || undefined,
      }),
    };
  }

  #countTokens({ usage }: AnswerFacts): void {
    const { genAi } = this.#context.metrics;
    const isReported = !usage.estimated;
    genAi.tokensUsed(this.#call, 'input', usage.inputTokens, isReported);
    genAi.tokensUsed(this.#call, 'output', usage.outputTokens, isReported);
    genAi.tokensUsed(this.#call, 'cache_read_input', usage.cachedTokens, isReported);
    genAi.tokensUsed(this.#call, 'cache_creation_input', cacheWritesOf(usage), isReported);
  }
}

const unlisted = 'other';

/** The name of a failed call in metrics and spans: `rate_limited`, `timeout`. Empty on success. */
export function toErrorType(result: AttemptResult): string {
  return result === AttemptResult.SUCCEEDED ? '' : AttemptResult[result].toLowerCase();
}

function secondsSince(startedMs: number): number {
  return (monotonicMs() - startedMs) / 1_000;
}

function cacheWritesOf({ cacheWrite5mTokens, cacheWrite1hTokens }: UsageReport): number {
  return cacheWrite5mTokens + cacheWrite1hTokens;
}
