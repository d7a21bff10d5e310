import { GatewayError, type GatewayErrorCode } from '@gateway/errors';

/** The format in which an endpoint reports errors. @see spec "Errors" */
export type ErrorDialect = 'chat' | 'messages' | 'responses';

/**
 * The only place where errors become HTTP: status, headers and body in the endpoint's shape.
 * @see spec "Errors"
 */
export function renderError(error: GatewayError, dialect: ErrorDialect, nowMs: number) {
  const status = statusOf(error);
  const body = dialect === 'messages' ? messagesBody(error, status) : { error: chatFields(error, dialect, nowMs) };
  const own = error instanceof HttpFault ? error.headers : retryHeaders(error, status);
  const headers: Record<string, string> = { 'content-type': 'application/json; charset=utf-8', ...own };
  return { status, headers, body: JSON.stringify(body) };
}

/**
 * A stream that the gateway must end. Only the last event of a Responses stream contains these
 * fields.
 */
export interface BrokenStream {
  readonly id: string;
  readonly model: string;
  /** Unix time in seconds. */
  readonly createdAt: number;
  readonly nextSequenceNumber: number;
}

/**
 * The event that ends a started stream with an error. Its message reveals nothing about the
 * provider.
 * @see spec "Events"
 */
export function renderStreamError(error: GatewayError, dialect: ErrorDialect, stream: BrokenStream): string {
  switch (dialect) {
    case 'chat':
      return `data: ${JSON.stringify({ error: { code: error.code, message: error.message } })}\n\n`;
    case 'messages':
      return `event: error\ndata: ${JSON.stringify(messagesBody(error, 500))}\n\n`;
    case 'responses':
      return `event: response.failed\ndata: ${JSON.stringify(failedResponse(error, stream))}\n\n`;
  }
}

/**
 * Codex ignores `error` events, so the gateway sends `response.failed`, as the provider does when a
 * response fails. It continues the sequence numbers of the response.
 */
function failedResponse({ message }: GatewayError, stream: BrokenStream) {
  const { id, model, createdAt, nextSequenceNumber } = stream;
  return {
    type: 'response.failed',
    sequence_number: nextSequenceNumber,
    response: {
      id,
      object: 'response',
      created_at: createdAt,
      status: 'failed',
      error: { code: 'server_error', message },
      incomplete_details: null,
      model,
      output: [],
      usage: null,
    },
  };
}

export function statusOf(error: GatewayError): number {
  if (error instanceof HttpFault) return error.status;
  return error.code === 'upstream_rejected' ? (error.upstreamStatus ?? 400) : statusOfCode[error.code];
}

function chatFields(error: GatewayError, dialect: ErrorDialect, nowMs: number) {
  const { code, message, limit, retryAfterMs } = error;
  const retryAtMs = error.retryAtMs ?? (retryAfterMs === undefined ? undefined : nowMs + retryAfterMs);
  const ofCodex = dialect === 'responses';
  return {
    code,
    message,
    limit,
    retryAt: statusOfCode[code] !== 429 || retryAtMs === undefined ? undefined : new Date(retryAtMs).toISOString(),
    // With these two fields Codex stops cleanly; without them it retries in a loop.
    type: ofCodex && statusOfCode[code] === 429 ? 'usage_limit_reached' : undefined,
    resets_at: ofCodex && retryAtMs !== undefined ? Math.ceil(retryAtMs / 1_000) : undefined,
  };
}

function messagesBody({ upstreamStatus, upstreamCode, message }: GatewayError, status: number) {
  if (upstreamStatus === undefined)
    return { type: 'error', error: { type: messagesTypes[status] ?? 'api_error', message } };
  // A provider's error keeps only its status, and the codes by which SDKs recover.
  const details = upstreamCode === undefined ? {} : { details: { error_code: upstreamCode } };
  return { type: 'error', error: { type: 'api_error', code: 'subscription_upstream_error', message, ...details } };
}

/** How a client may repeat the request. */
export function retryHeaders(error: GatewayError, status: number): Record<string, string> {
  // Waiting does not make a token valid or an answer smaller: without this header, agents repeat
  // the request for most of a minute before they report the error.
  if (status === 401 || error.isFinal) return { 'x-should-retry': 'false' };
  const { retryAfterMs, limit } = error;
  // Any other error of the client stays what it is, however long it waits.
  if (status < 500 && status !== 429) return {};
  return {
    ...(retryAfterMs === undefined ? {} : { 'retry-after': `${Math.max(1, Math.ceil(retryAfterMs / 1_000))}` }),
    // SDKs obey retry-after without an upper bound: the wait for the next day, or for the next
    // period of a budget, would block the client's process.
    ...(isForDays(limit, retryAfterMs) ? { 'x-should-retry': 'false' } : {}),
  };
}

/** What is only reserved may be free again a second later: as soon as a request ends. */
function isForDays(limit: GatewayError['limit'], retryAfterMs = Number.POSITIVE_INFINITY): boolean {
  if (limit === 'budget') return retryAfterMs > 60_000;
  return (limit === 'tokens_per_day' || limit === 'group_tokens_per_day') && retryAfterMs > 1_000;
}

/** Types by status. @see spec "Shapes" */
const messagesTypes: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
};

/** @see spec "Codes" */
const statusOfCode: Record<GatewayErrorCode, number> = {
  invalid_request: 400,
  invalid_json: 400,
  invalid_body: 400,
  unsupported_content: 400,
  upstream_rejected: 400,
  unauthorized: 401,
  model_not_found: 404,
  not_found: 404,
  method_not_allowed: 405,
  body_too_large: 413,
  unsupported_encoding: 415,
  rate_limit_exceeded: 429,
  pool_exhausted: 429,
  providers_unavailable: 503,
  subscription_unavailable: 503,
  internal_error: 500,
};

/**
 * A request that violates HTTP or asks for an unsupported HTTP feature. Its status is one of HTTP's
 * own.
 */
export class HttpFault extends GatewayError {
  readonly status: 400 | 405 | 408 | 417 | 426 | 431;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: HttpFault['status'], message: string, headers: Readonly<Record<string, string>> = {}) {
    super(status === 405 ? 'method_not_allowed' : 'invalid_request', message);
    this.status = status;
    this.headers = headers;
  }
}

/** The fault of a connection on which Node found no request, or only the start of one. */
export function toHttpFault(code: string | undefined): HttpFault {
  const [status, message] = connectionFaults[code ?? ''] ?? [400, 'The request is not valid HTTP.'];
  return new HttpFault(status, message);
}

const connectionFaults: Readonly<Record<string, [status: HttpFault['status'], message: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request did not arrive in time.'],
  HPE_HEADER_OVERFLOW: [431, 'The request line and headers are too large.'],
  HPE_INVALID_EOF_STATE: [400, 'The request is incomplete.'],
};
