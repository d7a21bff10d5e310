/** One kind of answer, as the specification distinguishes them. */
export interface CellRule {
  readonly status: number;
  /** The code of the error; undefined for answers, and for errors of the provider. */
  readonly code?: string;
  /** The origin of the error. Undefined for answers. */
  readonly from?: 'gateway' | 'provider';
}

const gateway = (status: number, code: string): CellRule => ({ status, code, from: 'gateway' });
const provider = (status: number): CellRule => ({ status, from: 'provider' });

/** Every kind of answer. @see spec "Codes", "Shapes", "Events" */
export const cells = {
  answer: { status: 200 },
  stream: { status: 200 },
  'stream that breaks off': { status: 200 },
  invalid_request: gateway(400, 'invalid_request'),
  invalid_json: gateway(400, 'invalid_json'),
  invalid_body: gateway(400, 'invalid_body'),
  unsupported_content: gateway(400, 'unsupported_content'),
  'upstream_rejected, 400': gateway(400, 'upstream_rejected'),
  'upstream_rejected, 413': gateway(413, 'upstream_rejected'),
  'upstream_rejected, 422': gateway(422, 'upstream_rejected'),
  unauthorized: gateway(401, 'unauthorized'),
  model_not_found: gateway(404, 'model_not_found'),
  not_found: gateway(404, 'not_found'),
  method_not_allowed: gateway(405, 'method_not_allowed'),
  body_too_large: gateway(413, 'body_too_large'),
  unsupported_encoding: gateway(415, 'unsupported_encoding'),
  'rate_limit_exceeded, requests_per_minute': gateway(429, 'rate_limit_exceeded'),
  'rate_limit_exceeded, tokens_per_day': gateway(429, 'rate_limit_exceeded'),
  'pool_exhausted, reset known': gateway(429, 'pool_exhausted'),
  'pool_exhausted, reset unknown': gateway(429, 'pool_exhausted'),
  internal_error: gateway(500, 'internal_error'),
  providers_unavailable: gateway(503, 'providers_unavailable'),
  too_busy: gateway(503, 'providers_unavailable'),
  subscription_unavailable: gateway(503, 'subscription_unavailable'),
  "provider's 400": provider(400),
  "provider's 404": provider(404),
  "provider's 500": provider(500),
  "provider's 529": provider(529),
} as const satisfies Record<string, CellRule>;

export type CellName = keyof typeof cells;

export const cellNames = Object.keys(cells).filter(isCellName);

/** Whether an answer needs a part of the gateway to be missing or overloaded. */
export function needsFault(cell: string): boolean {
  return cell.endsWith('internal_error') || cell.endsWith('too_busy');
}

export function isCellName(name: string): name is CellName {
  return Object.hasOwn(cells, name);
}

/** Whether the gateway decides the answer before it asks any provider. */
export function isBeforeProviders(cell: CellName): boolean {
  return beforeProviders.test(cell);
}

const beforeProviders = /^(invalid_|unsupported_|unauthorized|model_not|not_found|method_not|body_too|rate_limit)/;

const everyBody = ['invalid_request', 'invalid_json', 'body_too_large', 'unsupported_encoding'] as const;
const everyPool = [
  'rate_limit_exceeded, requests_per_minute',
  'pool_exhausted, reset known',
  'pool_exhausted, reset unknown',
] as const;
const everyProviderError = ["provider's 400", "provider's 404", "provider's 500", "provider's 529"] as const;

/**
 * The cells that the specification fills, by route. "other /v1/…" stands for the other methods of a
 * path.
 * @see spec "Endpoints", "Codes"
 */
export const specCells: Readonly<Record<string, readonly CellName[]>> = {
  'POST /v1/chat/completions': [
    ...(['answer', 'stream', 'stream that breaks off'] as const),
    ...everyBody,
    ...(['invalid_body', 'unsupported_content'] as const),
    ...(['upstream_rejected, 400', 'upstream_rejected, 413', 'upstream_rejected, 422'] as const),
    ...(['unauthorized', 'model_not_found', 'internal_error', 'providers_unavailable'] as const),
    ...everyPool,
    'rate_limit_exceeded, tokens_per_day',
  ],
  // No invalid_body: without compression there is nothing to decode. No upstream_rejected: here a
  // provider's error has a generic body, whatever its status.
  'POST /v1/messages': [
    ...(['answer', 'stream', 'stream that breaks off'] as const),
    ...everyBody,
    ...(['unauthorized', 'model_not_found', 'internal_error', 'subscription_unavailable'] as const),
    ...everyPool,
    'rate_limit_exceeded, tokens_per_day',
    ...everyProviderError,
  ],
  // The limit of tokens per day does not apply.
  'POST /v1/messages/count_tokens': [
    'answer',
    ...everyBody,
    ...(['unauthorized', 'model_not_found', 'internal_error', 'subscription_unavailable'] as const),
    ...everyPool,
    ...everyProviderError,
  ],
  // Always a stream. No upstream_rejected: provider errors come back unchanged.
  'POST /v1/responses': [
    ...(['stream', 'stream that breaks off'] as const),
    ...everyBody,
    'invalid_body',
    ...(['unauthorized', 'model_not_found', 'internal_error', 'providers_unavailable'] as const),
    ...everyPool,
    'rate_limit_exceeded, tokens_per_day',
    ...everyProviderError,
  ],
  'GET /v1/models': [
    'answer',
    'unauthorized',
    'rate_limit_exceeded, requests_per_minute',
    'internal_error',
    'too_busy',
  ],
  'GET /v1/usage': ['answer', 'unauthorized', 'internal_error', 'too_busy'],
  'other /v1/chat/completions': ['method_not_allowed'],
  'other /v1/messages': ['method_not_allowed'],
  'other /v1/messages/count_tokens': ['method_not_allowed'],
  'other /v1/responses': ['method_not_allowed'],
  'other /v1/models': ['method_not_allowed'],
  'other /v1/usage': ['method_not_allowed'],
  'unknown path': ['not_found'],
};
