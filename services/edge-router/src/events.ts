import type { GatewayError } from '@gateway/errors';
import { usedBy } from '@gateway/presentation/request-usage';
import { type Lease, ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import { RequestEnding, type RequestRecorded } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import type { Logger, Metrics } from '@gateway/telemetry';
import { cacheTime } from '@gateway/time';
import { LRUCache } from 'lru-cache';
import type { BodyMemory } from './body/body-memory.ts';
import { failureOf, isPlainSuccess, toLogFields } from './usage/request-log.ts';

export type RequestEvents = ReturnType<typeof createEvents>;

export type EventLog = Pick<Logger, 'isLevelEnabled'> &
  Readonly<Record<'debug' | 'info' | 'warn' | 'error', (fields: object, message: string) => void>>;

/** What is counted of a request. */
interface CountedRequest {
  readonly record: RequestRecorded;
  /** Since it was received. */
  readonly elapsedMs: number;
  /** The lease of its latest attempt. */
  readonly lease: Lease | undefined;
  /** When the first content of a streamed answer was sent. */
  readonly firstTokenMs: number | undefined;
}

/** The operation of a model request, by its name in the convention if there is one. */
export type GenAiOperation = 'chat' | 'count_tokens';

/** Metrics and log lines of the edge. */
export function createEvents({ logger, metrics }: { readonly logger: EventLog; readonly metrics: Metrics }) {
  const counted = createMetrics(metrics);
  const models = new ModelLabels();
  for (const part of parts) counted.faults.inc({ part }, 0);
  const warned = new LRUCache<string, true>({ max: 100, ttl: 60_000, ...cacheTime });
  /**
   * During an outage every request fails, so repeats are logged once a minute and counted each
   * time.
   */
  const warn = (about: string, fields: object, message: string): void => {
    if (warned.has(about)) return;
    warned.set(about, true);
    logger.warn(fields, message);
  };
  return {
    requestStarted: (method: string) => counted.activeRequests.inc({ http_request_method: method }),
    /** Called once for each started request. `operation` undefined: it uses no model. */
    requestEnded(method: string, operation: GenAiOperation | undefined, request: CountedRequest): void {
      const { record } = request;
      const { endpoint, status, errorCode } = record;
      // Anyone can send any number of requests without a valid token.
      const level = record.tokenId === '' || isPlainSuccess(record) ? 'debug' : 'info';
      if (logger.isLevelEnabled(level)) logger[level](toLogFields(record), 'request finished');
      const seconds = request.elapsedMs / 1_000;
      const failure = failureOf(record);
      const ofHttp = { http_request_method: method, http_route: endpoint, http_response_status_code: status };
      counted.activeRequests.dec({ http_request_method: method });
      counted.requestDurations.observe({ ...ofHttp, error_type: status >= 499 ? failure : '' }, seconds);
      // A provider's own refusal, passed on unchanged.
      const isPassedOn = errorCode === '' && status >= 400 && status !== 499;
      if (isPassedOn) counted.refusals.inc({ code: 'upstream_rejected', limit: 'none' });
      if (operation === undefined || record.model === '') return;
      const labels = { gen_ai_operation_name: operation, ...models.of(request) };
      counted.modelDurations.observe({ ...labels, error_type: failure }, seconds);
      const perToken = secondsPerToken(request);
      if (perToken !== undefined) counted.outputTokens.observe(labels, perToken);
    },
    /** A request gets an error instead of an answer. */
    refused: ({ code, limit }: GatewayError) => counted.refusals.inc({ code, limit: limit ?? 'none' }),
    requestFaulted(requestId: string, endpoint: string, error: GatewayError): void {
      const fields = { request_id: requestId, endpoint, err: error.cause ?? error };
      logger.error(fields, 'internal error');
    },
    failedOver: (reason: string) => counted.failovers.inc({ reason }),
    /** The first content of a streamed answer is sent. */
    streamBegan(request: CountedRequest): void {
      counted.openStreams.inc();
      const labels = { gen_ai_operation_name: 'chat', ...models.of(request) };
      counted.firstTokens.observe(labels, (request.firstTokenMs ?? 0) / 1_000);
    },
    streamEnded: () => counted.openStreams.dec(),
    clientStalled: () => counted.stalledClients.inc(),
    admittedLocally: () => counted.localAdmissions.inc(),
    limiterAway(fault: unknown): void {
      const reason = fault instanceof Error ? fault.message : String(fault);
      logger.warn({ reason }, 'the limiter does not answer; using local limits');
    },
    limiterBack(awayMs: number): void {
      logger.info({ outage_ms: awayMs }, 'the limiter answers again');
    },
    /** The tokens of a request are charged when the limiter answers again. */
    settleKept: () => counted.faults.inc({ part: 'settle' }),
    reportGivenUp(err: unknown, requestId: string): void {
      counted.reportsGivenUp.inc();
      const fields = { request_id: requestId, err };
      warn('reports', fields, 'the result of an attempt could not be reported; its lease ends when it expires');
    },
    /** `requestId` if the fault concerns one request. */
    faulted(part: Part, err: unknown, requestId?: string): void {
      counted.faults.inc({ part });
      warn(part, { part, request_id: requestId, err }, 'a background task failed; retrying');
    },
    /** Starts to expose the use of the body memory. */
    showBodyMemory(bodies: BodyMemory): void {
      const gauge = (name: string, help: string, read: () => number) =>
        metrics.gauge({ name: `gateway_body_${name}`, help, read });
      gauge('memory_bytes', 'Memory used by request bodies and their decoders.', () => bodies.usedBytes);
      gauge('memory_limit_bytes', 'Limit of that memory (BODY_MEMORY_MAX_MIB).', () => bodies.limitBytes);
      gauge('waiting_uploads', 'Requests that wait for body memory, or to be decoded.', () => bodies.waiting);
    },
  };
}

/** The parts behind the edge that can fail. */
const parts = ['outbox', 'delivery', 'settle', 'identity', 'renew', 'sign_in'] as const;
type Part = (typeof parts)[number];

/**
 * The golden signals of requests and of models' answers, by the names, labels and buckets of
 * OpenTelemetry's conventions, and metrics of what is behind them. No label has a value that a
 * client chooses.
 * @see https://opentelemetry.io/docs/specs/semconv/http/http-metrics/ and
 *   https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-metrics/
 */
function createMetrics(metrics: Metrics) {
  const ofModel = ['gen_ai_operation_name', 'gen_ai_provider_name', 'gen_ai_request_model'] as const;
  return {
    activeRequests: metrics.gauge({
      name: 'http_server_active_requests',
      help: 'Requests in flight.',
      labels: ['http_request_method'],
    }),
    requestDurations: metrics.histogram({
      name: 'http_server_request_duration_seconds',
      help: 'Time from the first byte of a request to the last byte of its answer. Status 499: the client disconnected before the end.',
      labels: ['http_request_method', 'http_route', 'http_response_status_code', 'error_type'],
      buckets: httpBucketsSeconds,
    }),
    refusals: metrics.counter({
      name: 'gateway_refusals_total',
      help: 'Requests answered with an error, by code; for rate_limit_exceeded, by limit too.',
      labels: ['code', 'limit'],
    }),
    failovers: metrics.counter({
      name: 'gateway_failovers_total',
      help: 'Failovers: attempts after a failed attempt of the same request, by the failure.',
      labels: ['reason'],
    }),
    openStreams: metrics.gauge({ name: 'gateway_open_streams', help: 'Open streams to clients.' }),
    modelDurations: metrics.histogram({
      name: 'gen_ai_server_request_duration_seconds',
      help: 'Time from the first byte of a request that names a model to the last byte of its answer.',
      labels: [...ofModel, 'error_type'],
      buckets: [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92],
    }),
    firstTokens: metrics.histogram({
      name: 'gen_ai_server_time_to_first_token_seconds',
      help: 'Time from the first byte of a request to the first byte of its streamed answer.',
      labels: ofModel,
      buckets: [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
    }),
    outputTokens: metrics.histogram({
      name: 'gen_ai_server_time_per_output_token_seconds',
      help: 'Time per token after the first one, for complete streamed answers with a count from the provider.',
      labels: ofModel,
      buckets: [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5],
    }),
    localAdmissions: metrics.counter({
      name: 'gateway_edge_local_admissions_total',
      help: 'Admissions that this edge decided locally because the limiter did not answer.',
    }),
    reportsGivenUp: metrics.counter({
      name: 'gateway_edge_attempt_reports_given_up_total',
      help: 'Attempt results that no broker accepted. Each counts as in flight on its account until the lease expires.',
    }),
    stalledClients: metrics.counter({
      name: 'gateway_edge_stalled_clients_total',
      help: 'Connections closed because the client read nothing of its answer for WRITE_STALL_SECONDS.',
    }),
    faults: metrics.counter({
      name: 'gateway_edge_faults_total',
      help: 'Failed background tasks that clients did not notice, by task.',
      labels: ['part'],
    }),
  };
}

/** A method as a label: clients may send any. */
export function methodLabel(method: string | undefined): string {
  return method !== undefined && knownMethods.has(method) ? method : '_OTHER';
}

const knownMethods = new Set(['CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'QUERY', 'TRACE']);

/** The route of requests that match no endpoint. */
export const otherRoute = 'other';

const httpBucketsSeconds = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

/**
 * The provider and model under which requests are counted: those of their lease, and only names in
 * the catalog.
 */
class ModelLabels {
  /**
   * The labels of listed models by requested name: a request without an account is counted under
   * that name's last labels.
   */
  readonly #lastOf = new Map<string, ReturnType<typeof labelsOf>>();

  of({ lease, record }: CountedRequest) {
    const last = this.#lastOf.get(record.model);
    if (lease === undefined) return last ?? unknownModel;
    const provider = providerNames[lease.format];
    if (lease.modelUnlisted) return labelsOf(provider, unknownModel.gen_ai_request_model);
    if (last?.gen_ai_request_model === lease.model && last.gen_ai_provider_name === provider) return last;
    const labels = labelsOf(provider, lease.model);
    this.#lastOf.set(record.model, labels);
    return labels;
  }
}

function labelsOf(provider: string, model: string) {
  return { gen_ai_provider_name: provider, gen_ai_request_model: model };
}

const unknownModel = labelsOf('other', 'other');

/** `gen_ai.provider.name` of an account, by its format. */
const providerNames: Readonly<Record<ProviderFormat, string>> = {
  [ProviderFormat.UNSPECIFIED]: 'other',
  [ProviderFormat.RESPONSES]: 'openai',
  [ProviderFormat.MESSAGES]: 'anthropic',
};

/** Undefined when it can't be computed: no stream, an early end, no count, or a single token. */
function secondsPerToken({ record, firstTokenMs }: CountedRequest): number | undefined {
  const { ending, times } = record;
  const usage = usedBy(record)?.usage;
  if (firstTokenMs === undefined || ending !== RequestEnding.COMPLETED || times?.ended === undefined) return undefined;
  if (usage === undefined || usage.estimated || usage.outputTokens < 2) return undefined;
  return (times.ended - firstTokenMs) / 1_000 / (usage.outputTokens - 1);
}
