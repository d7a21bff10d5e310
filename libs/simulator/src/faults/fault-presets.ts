import { invalidSignature } from '../messages/errors.ts';
import type { FormatName, ProviderError } from '../provider-format.ts';
import { unreadableContent } from '../responses/errors.ts';
import {
  codexWindowHeaders,
  millisecondsLeft,
  type PresetMoment,
  requestWindowHeaders,
  retryAfter,
  secondsLeft,
  tokenBucketHeaders,
  unifiedHeaders,
} from './limit-headers.ts';

export const presetNames = [
  'rate_limited',
  'rate_limited_retry_after',
  'rate_limited_retry_after_ms',
  'rate_limited_retry_after_date',
  'rate_limited_ratelimit_headers',
  'usage_limit_reached',
  'codex_window_exhausted',
  'unified_rejected',
  'unified_transient',
  'insufficient_quota',
  'overloaded',
  'server_error',
  'unavailable',
  'bad_gateway_html',
  'unauthorized',
  'token_expired',
  'token_revoked',
  'account_deactivated',
  'forbidden',
  'forbidden_html',
  'invalid_request',
  'context_length_exceeded',
  'invalid_encrypted_content',
  'too_large',
] as const;

export type PresetName = (typeof presetNames)[number];

/** What a preset answers: an error in the format's own shape, or a body of its own. */
export interface PresetAnswer {
  readonly error: ProviderError;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent instead of an error of the format's shape. */
  readonly html?: string;
}

/** The presets that are limits, which end by themselves when they reset. */
export function isLimit(name: PresetName): boolean {
  return limits.has(name);
}

const limits: ReadonlySet<PresetName> = new Set<PresetName>([
  ...(['rate_limited_retry_after', 'rate_limited_retry_after_ms', 'rate_limited_retry_after_date'] as const),
  ...(['rate_limited_ratelimit_headers', 'usage_limit_reached', 'codex_window_exhausted'] as const),
  ...(['unified_rejected', 'unified_transient'] as const),
]);

export function presetAnswer(name: PresetName, moment: PresetMoment): PresetAnswer {
  return presets[name](moment);
}

/** The headers are the providers' own; see each provider's page on rate limits. */
const presets: Readonly<Record<PresetName, (moment: PresetMoment) => PresetAnswer>> = {
  rate_limited: () => limited(),
  rate_limited_retry_after: (moment) => limited({ 'retry-after': `${secondsLeft(moment)}` }),
  rate_limited_retry_after_ms: (moment) => limited({ 'retry-after-ms': `${millisecondsLeft(moment)}` }),
  rate_limited_retry_after_date: ({ resetAtMs }) => limited({ 'retry-after': new Date(resetAtMs).toUTCString() }),
  rate_limited_ratelimit_headers: (moment) =>
    limited(moment.format === 'responses' ? tokenBucketHeaders(moment) : requestWindowHeaders(moment)),
  usage_limit_reached: usageLimitReached,
  codex_window_exhausted: (moment) => limited(codexWindowHeaders(moment)),
  unified_rejected: (moment) => limited(unifiedHeaders(moment, 'rejected')),
  unified_transient: (moment) => limited({ ...unifiedHeaders(moment, 'allowed'), ...retryAfter(moment) }),
  insufficient_quota: () => ({
    error: {
      status: 429,
      type: 'insufficient_quota',
      code: 'insufficient_quota',
      message: 'You exceeded your current quota.',
    },
  }),
  overloaded: ({ format }) =>
    format === 'messages'
      ? { error: { status: 529, message: 'Overloaded' } }
      : { error: { status: 503, code: 'server_is_overloaded', message: 'The server is overloaded.' } },
  server_error: () => ({ error: { status: 500, message: 'Internal server error' } }),
  unavailable: () => ({ error: { status: 503, message: 'Service unavailable' } }),
  bad_gateway_html: () => ({ error: { status: 502, message: '' }, html: page('502 Bad Gateway') }),
  unauthorized: ({ format }) => unauthorized(format),
  token_expired: ({ format }) => tokenExpired(format),
  token_revoked: ({ format }) => tokenRevoked(format),
  account_deactivated: ({ format }) => accountDeactivated(format),
  forbidden: () => ({ error: { status: 403, message: 'Your account is not allowed to use this.' } }),
  forbidden_html: () => ({
    error: { status: 403, message: '' },
    headers: { server: 'cloudflare', 'cf-mitigated': 'challenge' },
    html: page('Just a moment...'),
  }),
  invalid_request: () => ({ error: { status: 400, code: 'invalid_value', message: 'Simulated: invalid request.' } }),
  context_length_exceeded: ({ format }) => contextLengthExceeded(format),
  invalid_encrypted_content: ({ format }) => ({ error: unreadableReasoning(format) }),
  too_large: () => ({ error: { status: 413, message: 'Request exceeds the maximum size' } }),
};

function limited(headers: Readonly<Record<string, string>> = {}): PresetAnswer {
  return { error: { status: 429, code: 'rate_limit_exceeded', message: 'Simulated: rate limit reached.' }, headers };
}

/** The only sign of the reset is in the body. */
function usageLimitReached(moment: PresetMoment): PresetAnswer {
  const extra = {
    plan_type: 'pro',
    resets_at: moment.resetAtMs / 1000,
    resets_in_seconds: secondsLeft(moment),
    eligible_promo: null,
  };
  return {
    error: { status: 429, type: 'usage_limit_reached', message: 'The usage limit has been reached', extra },
  };
}

function unauthorized(format: FormatName): PresetAnswer {
  const message = format === 'messages' ? 'invalid x-api-key' : 'Incorrect API key provided.';
  return { error: { status: 401, code: 'invalid_api_key', message } };
}

function tokenExpired(format: FormatName): PresetAnswer {
  const message = format === 'messages' ? 'OAuth token has expired.' : 'Your access token has expired.';
  return { error: { status: 401, code: 'token_expired', message } };
}

function tokenRevoked(format: FormatName): PresetAnswer {
  if (format === 'messages') {
    return { error: { status: 403, message: 'OAuth token has been revoked. Please obtain a new token.' } };
  }
  return { error: { status: 401, code: 'token_revoked', message: 'Encountered invalidated oauth token.' } };
}

function accountDeactivated(format: FormatName): PresetAnswer {
  if (format === 'messages') return { error: { status: 400, message: 'This organization has been disabled.' } };
  const message = 'The account associated with this key has been deactivated.';
  return { error: { status: 401, code: 'account_deactivated', message } };
}

function contextLengthExceeded(format: FormatName): PresetAnswer {
  if (format === 'messages') {
    return { error: { status: 400, message: 'prompt is too long: 200001 tokens > 200000 maximum' } };
  }
  const message = 'Your input exceeds the context window of this model. Please adjust your input and try again.';
  return { error: { status: 400, code: 'context_length_exceeded', param: 'input', message } };
}

function unreadableReasoning(format: FormatName): ProviderError {
  if (format === 'messages') return invalidSignature('messages.1.content.0', 'signature').refusal;
  return unreadableContent('other_account');
}

function page(title: string): string {
  return `<!DOCTYPE html><html><head><title>${title}</title></head><body><h1>${title}</h1></body></html>`;
}
