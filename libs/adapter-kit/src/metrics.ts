import { AttemptResult, ProviderFormat as ProviderFormatId } from '@gateway/proto/pool/v1/account_pb.js';
import { durationBucketsSeconds, type Metrics } from '@gateway/telemetry';
import type { ErrorMeaning } from './failure/error-meanings.ts';

/** Metrics of an adapter's calls to providers. */
export type AdapterMetrics = ReturnType<typeof adapterMetrics>;

export function adapterMetrics(metrics: Metrics, formatId: ProviderFormatId) {
  const format = ProviderFormatId[formatId].toLowerCase();
  const attempts = metrics.counter({
    name: 'gateway_upstream_attempts_total',
    help: 'Attempts at a provider, by result.',
    labels: ['format', 'result'],
  });
  const amended = metrics.counter({
    name: 'gateway_upstream_amended_requests_total',
    help: 'Requests that were resent without the part that the provider rejected, by that part.',
    labels: ['format', 'meaning'],
  });
  const resent = metrics.counter({
    name: 'gateway_upstream_resent_requests_total',
    help: 'Requests that were resent on a new connection because the provider had closed the idle one, before any byte of an answer.',
    labels: ['format'],
  });
  const unknownEvents = metrics.counter({
    name: 'gateway_upstream_unknown_events_total',
    help: 'Provider events that were skipped because this version of the gateway does not know them.',
    labels: ['format'],
  });
  const firstByte = metrics.histogram({
    name: 'gateway_upstream_first_byte_seconds',
    help: 'Time from sending a request to the head of the provider’s answer. Without model lists.',
    labels: ['format'],
    buckets: durationBucketsSeconds,
  });
  const openStreams = metrics.gauge({
    name: 'gateway_upstream_open_streams',
    help: 'Requests to providers in flight.',
    labels: ['format'],
  });
  // Set at the start, so that the series exists before the first request.
  openStreams.inc({ format }, 0);
  unknownEvents.inc({ format }, 0);
  resent.inc({ format }, 0);
  return {
    /** The same calls by OpenTelemetry's GenAI conventions. */
    genAi: genAiMetrics(metrics, formatId),
    attemptEnded: (result: AttemptResult) => attempts.inc({ format, result: AttemptResult[result].toLowerCase() }),
    requestAmended: (meaning: ErrorMeaning) => amended.inc({ format, meaning }),
    requestResent: () => resent.inc({ format }),
    unknownEventsSkipped: (count: number) => unknownEvents.inc({ format }, count),
    answerBegan: (sinceStartMs: number) => firstByte.observe({ format }, sinceStartMs / 1_000),
    streamOpened: () => openStreams.inc({ format }),
    streamClosed: () => openStreams.dec({ format }),
  };
}

/**
 * The operation of a call. `count_tokens` and `list_models` are our own names, because the
 * convention has none.
 */
export type GenAiOperation = 'chat' | 'count_tokens' | 'list_models';

type TokenType = 'input' | 'output' | 'cache_read_input' | 'cache_creation_input';

/** The provider, model and operation of one call. */
export interface GenAiCall {
  readonly operation: GenAiOperation;
  /**
   * A model of the catalog, or `other`: never a name that clients make up. Empty: the call concerns
   * no model.
   */
  readonly model: string;
}

/**
 * Metrics of calls by the GenAI conventions.
 * @see https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-metrics/
 */
function genAiMetrics(metrics: Metrics, format: ProviderFormatId) {
  const provider = providers[format];
  const durations = metrics.histogram({
    name: 'gen_ai_client_operation_duration_seconds',
    help: 'Time from sending a request to a provider to the end of its answer.',
    labels: [...callLabels, 'error_type'],
    buckets: genAiBucketsSeconds,
  });
  const firstChunks = metrics.histogram({
    name: 'gen_ai_client_operation_time_to_first_chunk_seconds',
    help: 'Time from sending a request to a provider to the first content of its streamed answer.',
    labels: callLabels,
    buckets: genAiBucketsSeconds,
  });
  const usage = metrics.histogram({
    name: 'gen_ai_client_token_usage',
    help: 'Tokens of an answer, as the provider reported them.',
    labels: [...callLabels, 'gen_ai_token_type'],
    buckets: Array.from({ length: 14 }, (_, power) => 4 ** power),
  });
  const tokens = metrics.counter({
    name: 'gateway_tokens_total',
    help: 'Tokens used: reported by the provider, or estimated if an answer ended early. Input includes cache tokens.',
    labels: [...callLabels, 'gen_ai_token_type'],
  });
  const labelsOf = ({ operation, model }: GenAiCall) => ({
    gen_ai_operation_name: operation,
    gen_ai_provider_name: provider,
    gen_ai_request_model: model,
  });
  return {
    provider,
    /** @param errorType empty on success */
    callEnded: (call: GenAiCall, errorType: string, seconds: number) =>
      durations.observe({ ...labelsOf(call), error_type: errorType }, seconds),
    firstChunkCame: (call: GenAiCall, seconds: number) => firstChunks.observe(labelsOf(call), seconds),
    /** @param isReported false for an estimate, which is not an observation */
    tokensUsed: (call: GenAiCall, type: TokenType, count: number, isReported: boolean) => {
      const labels = { ...labelsOf(call), gen_ai_token_type: type };
      tokens.inc(labels, count);
      if (isReported && (type === 'input' || type === 'output')) usage.observe(labels, count);
    },
  };
}

/** The owner of each format, by its name in the conventions. */
const providers: Readonly<Record<ProviderFormatId, string>> = {
  [ProviderFormatId.UNSPECIFIED]: 'other',
  [ProviderFormatId.RESPONSES]: 'openai',
  [ProviderFormatId.MESSAGES]: 'anthropic',
};

/** The convention's buckets. */
const genAiBucketsSeconds = Array.from({ length: 14 }, (_, power) => 2 ** power / 100);
const callLabels = ['gen_ai_operation_name', 'gen_ai_provider_name', 'gen_ai_request_model'] as const;
