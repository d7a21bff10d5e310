import type { FormatName } from '../provider-format.ts';

/** When and for whom a limit is answered. */
export interface PresetMoment {
  readonly format: FormatName;
  readonly nowMs: number;
  /** When the limit ends: a whole second. */
  readonly resetAtMs: number;
}

/** Usage windows of a subscription account on the Responses provider, the first of them used up. */
export function codexWindowHeaders(moment: PresetMoment): Readonly<Record<string, string>> {
  const { nowMs, resetAtMs } = moment;
  return {
    'x-codex-active-limit': 'codex',
    'x-codex-plan-type': 'pro',
    'x-codex-primary-used-percent': '100.0',
    'x-codex-primary-window-minutes': '300',
    'x-codex-primary-reset-at': `${resetAtMs / 1000}`,
    'x-codex-primary-reset-after-seconds': `${secondsLeft(moment)}`,
    'x-codex-secondary-used-percent': '42.5',
    'x-codex-secondary-window-minutes': '10080',
    'x-codex-secondary-reset-at': `${Math.ceil(nowMs / 1000) + 400_000}`,
    'x-codex-secondary-reset-after-seconds': '400000',
    'x-codex-credits-has-credits': 'False',
    'x-codex-credits-unlimited': 'False',
  };
}

/** @see https://platform.openai.com/docs/guides/rate-limits#rate-limits-in-headers */
export function tokenBucketHeaders(moment: PresetMoment): Readonly<Record<string, string>> {
  return {
    'x-ratelimit-limit-requests': '500',
    'x-ratelimit-remaining-requests': '0',
    'x-ratelimit-reset-requests': goDuration(secondsLeft(moment)),
    'x-ratelimit-limit-tokens': '200000',
    'x-ratelimit-remaining-tokens': '199000',
    'x-ratelimit-reset-tokens': '300ms',
  };
}

/** @see https://docs.claude.com/en/api/rate-limits#response-headers */
export function requestWindowHeaders({ nowMs, resetAtMs }: PresetMoment): Readonly<Record<string, string>> {
  return {
    'anthropic-ratelimit-requests-limit': '50',
    'anthropic-ratelimit-requests-remaining': '0',
    'anthropic-ratelimit-requests-reset': new Date(resetAtMs).toISOString(),
    'anthropic-ratelimit-tokens-limit': '80000',
    'anthropic-ratelimit-tokens-remaining': '79000',
    'anthropic-ratelimit-tokens-reset': new Date(nowMs).toISOString(),
  };
}

/** Usage windows of a subscription account on the Messages provider; a limit without `rejected` is a short one. */
export function unifiedHeaders(
  { nowMs, resetAtMs }: PresetMoment,
  status: 'rejected' | 'allowed',
): Readonly<Record<string, string>> {
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

export function retryAfter(moment: PresetMoment): Readonly<Record<string, string>> {
  return { 'retry-after': `${secondsLeft(moment)}` };
}

export function secondsLeft({ nowMs, resetAtMs }: PresetMoment): number {
  return Math.max(1, Math.ceil((resetAtMs - nowMs) / 1000));
}

export function millisecondsLeft({ nowMs, resetAtMs }: PresetMoment): number {
  return Math.max(1, Math.ceil(resetAtMs - nowMs));
}

/** As in `6m0s`. */
function goDuration(seconds: number): string {
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  const parts = [hours > 0 ? `${hours}h` : '', hours + minutes > 0 ? `${minutes}m` : '', `${seconds % 60}s`];
  return parts.join('');
}
