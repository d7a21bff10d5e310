import { ProviderFormat as ProviderFormatId } from '@gateway/proto/pool/v1/account_pb.js';
import type { Metrics } from '@gateway/telemetry';

/** What a provider is asked. `count_tokens` and `list_models` are names of ours: the convention has none. */
export type GenAiOperation = 'chat' | 'count_tokens' | 'list_models';

export type TokenType = 'input' | 'output' | 'cache_read_input' | 'cache_creation_input';

/** Whom one call asks for what. */
export interface GenAiCall {
  readonly operation: GenAiOperation;
  /** A model of the catalog, or `other`: no name that clients make up. Empty: no model is asked. */
  readonly model: string;
}

/** Calls to providers by the GenAI conventions. @see https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-metrics/ */
export type GenAiMetrics = ReturnType<typeof genAiMetrics>;

export function genAiMetrics(metrics: Metrics, format: ProviderFormatId) {
  const provider = providers[format];
  const durations = metrics.histogram({
    name: 'gen_ai_client_operation_duration_seconds',
    help: 'Time from sending a request to a provider to the end of its answer.',
    labels: [...callLabels, 'error_type'],
    buckets: durationBucketsSeconds,
  });
  const firstChunks = metrics.histogram({
    name: 'gen_ai_client_operation_time_to_first_chunk_seconds',
    help: 'Time from sending a request to a provider to the first content of its streamed answer.',
    labels: callLabels,
    buckets: durationBucketsSeconds,
  });
  const usage = metrics.histogram({
    name: 'gen_ai_client_token_usage',
    help: 'Tokens of one answer, as its provider reported them.',
    labels: [...callLabels, 'gen_ai_token_type'],
    buckets: Array.from({ length: 14 }, (_, power) => 4 ** power),
  });
  const tokens = metrics.counter({
    name: 'gateway_tokens_total',
    help: 'Tokens that providers used: reported, or estimated where an answer broke off. Those of the cache are among the input.',
    labels: [...callLabels, 'gen_ai_token_type'],
  });
  const labelsOf = ({ operation, model }: GenAiCall) => ({
    gen_ai_operation_name: operation,
    gen_ai_provider_name: provider,
    gen_ai_request_model: model,
  });
  return {
    provider,
    /** @param errorType empty after success */
    callEnded: (call: GenAiCall, errorType: string, seconds: number) =>
      durations.observe({ ...labelsOf(call), error_type: errorType }, seconds),
    firstChunkCame: (call: GenAiCall, seconds: number) => firstChunks.observe(labelsOf(call), seconds),
    /** @param isReported false for an estimate, which is no observation */
    tokensUsed: (call: GenAiCall, type: TokenType, count: number, isReported: boolean) => {
      const labels = { ...labelsOf(call), gen_ai_token_type: type };
      tokens.inc(labels, count);
      if (isReported && (type === 'input' || type === 'output')) usage.observe(labels, count);
    },
  };
}

/** Whose format it is, as the conventions name them. */
const providers: Readonly<Record<ProviderFormatId, string>> = {
  [ProviderFormatId.UNSPECIFIED]: 'other',
  [ProviderFormatId.RESPONSES]: 'openai',
  [ProviderFormatId.MESSAGES]: 'anthropic',
};

const durationBucketsSeconds = Array.from({ length: 14 }, (_, power) => 2 ** power / 100);
const callLabels = ['gen_ai_operation_name', 'gen_ai_provider_name', 'gen_ai_request_model'] as const;
