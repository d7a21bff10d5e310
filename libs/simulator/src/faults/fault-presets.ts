import { invalidSignature, unreadableContent } from '../answer/refused-reasoning.ts';
import type { FormatName, ProviderError } from '../provider-request.ts';

/** The answer of a preset: an error in the format's shape, or a body of its own. */
export interface PresetAnswer {
  readonly error: ProviderError;
  readonly headers?: Headers;
  /** Sent instead of an error in the format's shape. */
  readonly html?: string;
}

type Headers = Readonly<Record<string, string>>;

export function answerOfPreset(name: PresetName, given: Omit<Limit, 'secondsLeft'>): PresetAnswer {
  const secondsLeft = Math.max(1, Math.ceil((given.resetAtMs - given.nowMs) / 1000));
  return presets[name]({ ...given, secondsLeft });
}

/** Whether a preset is a limit that announces a reset, and ends at that time. */
export function isLimit(name: PresetName): boolean {
  return name in limits;
}

export function unauthorized(format: FormatName): ProviderError {
  const message = format === 'messages' ? 'invalid x-api-key' : 'Incorrect API key provided.';
  return { status: 401, code: 'invalid_api_key', message };
}

interface Limit {
  readonly format: FormatName;
  readonly nowMs: number;
  /** Always a whole second. */
  readonly resetAtMs: number;
  readonly secondsLeft: number;
}

type Presets = Readonly<Record<string, (limit: Limit) => PresetAnswer>>;

/**
 * Limits that announce a reset, and end at that time. The headers are the providers' own; see each
 * provider's page on rate limits.
 */
const limits = {
  rate_limited_retry_after: ({ secondsLeft }) => limited({ 'retry-after': `${secondsLeft}` }),
  rate_limited_retry_after_ms: ({ resetAtMs, nowMs }) =>
    limited({ 'retry-after-ms': `${Math.max(1, Math.ceil(resetAtMs - nowMs))}` }),
  rate_limited_retry_after_date: ({ resetAtMs }) => limited({ 'retry-after': new Date(resetAtMs).toUTCString() }),
  rate_limited_ratelimit_headers: (limit) =>
    limited(limit.format === 'responses' ? tokenBucketHeaders(limit) : requestWindowHeaders(limit)),
  /** Only the body shows the reset. */
  usage_limit_reached: ({ resetAtMs, secondsLeft }) => {
    const times = { resets_at: resetAtMs / 1000, resets_in_seconds: secondsLeft };
    const extra = { plan_type: 'pro', ...times, eligible_promo: null };
    return { error: { status: 429, type: 'usage_limit_reached', message: 'The usage limit has been reached', extra } };
  },
  codex_window_exhausted: (limit) => limited(codexWindowHeaders(limit)),
  unified_rejected: (limit) => limited(unifiedHeaders(limit, 'rejected')),
  unified_transient: (limit) => limited({ ...unifiedHeaders(limit, 'allowed'), 'retry-after': `${limit.secondsLeft}` }),
} satisfies Presets;

const presets = {
  rate_limited: () => limited(),
  ...limits,
  overloaded: ({ format }) =>
    format === 'messages'
      ? { error: { status: 529, message: 'Overloaded' } }
      : { error: { status: 503, code: 'server_is_overloaded', message: 'The server is overloaded.' } },
  server_error: () => ({ error: { status: 500, message: 'Internal server error' } }),
  unauthorized: ({ format }) => ({ error: unauthorized(format) }),
  forbidden: () => ({ error: { status: 403, message: 'Your account is not allowed to use this.' } }),
  forbidden_html: () => ({
    error: { status: 403, message: '' },
    headers: { server: 'cloudflare', 'cf-mitigated': 'challenge' },
    html: '<!DOCTYPE html><html><head><title>Just a moment...</title></head><body><h1>Just a moment...</h1></body></html>',
  }),
  context_length_exceeded: ({ format }) => {
    if (format === 'messages') {
      return { error: { status: 400, message: 'prompt is too long: 200001 tokens > 200000 maximum' } };
    }
    const message = 'Your input exceeds the context window of this model. Please adjust your input and try again.';
    return { error: { status: 400, code: 'context_length_exceeded', param: 'input', message } };
  },
  invalid_encrypted_content: ({ format }) => ({
    error: format === 'messages' ? invalidSignature('messages.1.content.0') : unreadableContent('other_account'),
  }),
  too_large: () => ({ error: { status: 413, message: 'Request exceeds the maximum size' } }),
} satisfies Presets;

export type PresetName = keyof typeof presets;

export const presetNames = Object.keys(presets) as PresetName[];

function limited(headers: Headers = {}): PresetAnswer {
  return { error: { status: 429, code: 'rate_limit_exceeded', message: 'Simulated: rate limit reached.' }, headers };
}

/**
 * Usage windows of a subscription account at the Responses provider, the first of them exhausted.
 */
function codexWindowHeaders({ nowMs, resetAtMs, secondsLeft }: Limit): Headers {
  return {
    'x-codex-active-limit': 'codex',
    'x-codex-plan-type': 'pro',
    'x-codex-primary-used-percent': '100.0',
    'x-codex-primary-window-minutes': '300',
    'x-codex-primary-reset-at': `${resetAtMs / 1000}`,
    'x-codex-primary-reset-after-seconds': `${secondsLeft}`,
    'x-codex-secondary-used-percent': '42.5',
    'x-codex-secondary-window-minutes': '10080',
    'x-codex-secondary-reset-at': `${Math.ceil(nowMs / 1000) + 400_000}`,
    'x-codex-secondary-reset-after-seconds': '400000',
    'x-codex-credits-has-credits': 'False',
    'x-codex-credits-unlimited': 'False',
  };
}

/** @see https://platform.openai.com/docs/guides/rate-limits#rate-limits-in-headers */
function tokenBucketHeaders({ secondsLeft }: Limit): Headers {
  return {
    'x-ratelimit-limit-requests': '500',
    'x-ratelimit-remaining-requests': '0',
    'x-ratelimit-reset-requests': goDuration(secondsLeft),
    'x-ratelimit-limit-tokens': '200000',
    'x-ratelimit-remaining-tokens': '199000',
    'x-ratelimit-reset-tokens': '300ms',
  };
}

/** @see https://docs.claude.com/en/api/rate-limits#response-headers */
function requestWindowHeaders({ nowMs, resetAtMs }: Limit): Headers {
  return {
    'anthropic-ratelimit-requests-limit': '50',
    'anthropic-ratelimit-requests-remaining': '0',
    'anthropic-ratelimit-requests-reset': new Date(resetAtMs).toISOString(),
    'anthropic-ratelimit-tokens-limit': '80000',
    'anthropic-ratelimit-tokens-remaining': '79000',
    'anthropic-ratelimit-tokens-reset': new Date(nowMs).toISOString(),
  };
}

/**
 * Usage windows of a subscription account at the Messages provider; a limit without `rejected` is a
 * short one.
 */
function unifiedHeaders({ nowMs, resetAtMs }: Limit, status: 'rejected' | 'allowed'): Headers {
  const weekEnd = Math.ceil(nowMs / 1000) + 400_000;
  const reset = status === 'rejected' ? resetAtMs / 1000 : Math.ceil(nowMs / 1000) + 10_000;
  return {
    'anthropic-ratelimit-unified-status': status,
    'anthropic-ratelimit-unified-reset': `${reset}`,
    'anthropic-ratelimit-unified-5h-status': status,
    'anthropic-ratelimit-unified-5h-reset': `${reset}`,
    'anthropic-ratelimit-unified-5h-utilization': status === 'rejected' ? '1.0' : '0.4',
    'anthropic-ratelimit-unified-7d-status': 'allowed',
    'anthropic-ratelimit-unified-7d-reset': `${weekEnd}`,
    'anthropic-ratelimit-unified-7d-utilization': '0.5',
    'anthropic-ratelimit-unified-representative-claim': 'five_hour',
    'anthropic-ratelimit-unified-fallback': 'available',
    'anthropic-ratelimit-unified-overage-status': 'rejected',
    'anthropic-ratelimit-unified-overage-disabled-reason': 'org_level_disabled',
  };
}

/** Go's notation, such as `6m0s`. */
function goDuration(seconds: number): string {
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  const parts = [hours > 0 ? `${hours}h` : '', hours + minutes > 0 ? `${minutes}m` : '', `${seconds % 60}s`];
  return parts.join('');
}
