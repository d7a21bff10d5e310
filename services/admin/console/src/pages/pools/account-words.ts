import { failureRemedy, isFailing } from '@gateway/presentation';
import type { PoolStatus } from '@gateway/proto/admin/v1/pool_service_pb.js';
import {
  type Account,
  AccountState,
  AccountUse,
  AttemptResult,
  type Cooldown,
  ProviderFormat,
} from '@gateway/proto/pool/v1/account_pb.js';
import { type QuotaForecast, QuotaOutlook } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { Tone } from '../../ui/status.tsx';

export type CredentialKind = 'bearer' | 'apiKey' | 'oauth';

const namesInContract: Readonly<Record<CredentialKind, string>> = {
  bearer: 'bearer',
  apiKey: 'api_key',
  oauth: 'oauth',
};

/** The kind of credential that an account has, or that providers of its pool's format expect. */
export function usualCredentialKind({
  format = ProviderFormat.UNSPECIFIED,
  credentialKind = '',
}: {
  readonly format?: ProviderFormat | undefined;
  readonly credentialKind?: string;
}): CredentialKind {
  const present = (['bearer', 'apiKey', 'oauth'] as const).find((kind) => namesInContract[kind] === credentialKind);
  return present ?? (format === ProviderFormat.MESSAGES ? 'apiKey' : 'bearer');
}

/** The state of an account in a word. */
export function standOf(account: Pick<Account, 'state' | 'use' | 'lastError'>): {
  readonly tone: Tone;
  readonly text: string;
} {
  const { state, use } = account;
  if (use === AccountUse.DISABLED) return { tone: 'neutral', text: 'Disabled' };
  if (state === AccountState.AVAILABLE && isFailing(account)) return { tone: 'bad', text: 'Failing' };
  return stands[state];
}

const stands: Readonly<Record<AccountState, { readonly tone: Tone; readonly text: string }>> = {
  [AccountState.UNSPECIFIED]: { tone: 'neutral', text: 'Unknown' },
  [AccountState.AVAILABLE]: { tone: 'good', text: 'Available' },
  [AccountState.COOLING]: { tone: 'warn', text: 'Cooling' },
  [AccountState.PROBING]: { tone: 'info', text: 'Probing' },
  [AccountState.DISABLED]: { tone: 'bad', text: 'Needs attention' },
  [AccountState.DRAINING]: { tone: 'neutral', text: 'Draining' },
};

/** How many accounts are in each state, those that work first: "2 available", "1 failing". */
export function standCounts(
  accounts: readonly Pick<Account, 'state' | 'use' | 'lastError'>[],
): readonly { readonly tone: Tone; readonly text: string }[] {
  const groups = [...Map.groupBy(accounts.map(standOf), ({ text }) => text).values()];
  const counted = groups.flatMap((group) =>
    group
      .slice(0, 1)
      .map(({ tone, text }) => ({ tone, text: `${group.length} ${countedWords[text] ?? text.toLowerCase()}` })),
  );
  return counted.toSorted((one, other) => toneOrder.indexOf(one.tone) - toneOrder.indexOf(other.tone));
}

const toneOrder: readonly Tone[] = ['good', 'info', 'warn', 'bad', 'neutral'];

/** Words that do not fit behind a number. */
const countedWords: Readonly<Record<string, string>> = { 'Needs attention': 'out of service' };

export const useWords: Readonly<Record<AccountUse, string>> = {
  [AccountUse.UNSPECIFIED]: 'active',
  [AccountUse.ACTIVE]: 'active',
  [AccountUse.DRAINING]: 'draining',
  [AccountUse.DISABLED]: 'disabled',
};

/** Cooldowns that have not ended. */
export function runningCooldowns({ cooldowns }: Pick<Account, 'cooldowns'>, nowMs: number): readonly Cooldown[] {
  return cooldowns.filter(({ untilMs = nowMs + 1 }) => untilMs > nowMs);
}

/**
 * Why an account cools down, and for which models: "claude-opus-*: rate limited by the provider".
 */
export function cooldownText({ model, feature, reason }: Cooldown): string {
  const scope = model || feature;
  return `${scope === '' ? '' : `${scope}: `}${reasonWords[reason]}`;
}

const reasonWords: Readonly<Record<AttemptResult, string>> = {
  [AttemptResult.UNSPECIFIED]: 'cooling',
  [AttemptResult.SUCCEEDED]: 'cooling',
  [AttemptResult.RATE_LIMITED]: 'rate limited by the provider',
  [AttemptResult.UNAUTHORIZED]: 'rejected by the provider',
  [AttemptResult.OVERLOADED]: 'the provider is overloaded',
  [AttemptResult.SERVER_ERROR]: 'server errors from the provider',
  [AttemptResult.NETWORK_ERROR]: 'the provider is unreachable',
  [AttemptResult.TIMEOUT]: 'the provider timed out',
  [AttemptResult.REJECTED]: 'cooling',
  [AttemptResult.CANCELLED]: 'cooling',
  [AttemptResult.ANSWER_TOO_LARGE]: 'cooling',
  [AttemptResult.MODEL_UNAVAILABLE]: 'not offered to this account',
  [AttemptResult.FEATURE_UNAVAILABLE]: 'feature not available to this account',
  [AttemptResult.REFUSED]: 'not permitted by the provider',
};

/** "from gateway.yaml", "from OPENAI_API_KEY", "from the database", "from the simulator" */
export function sourceText({ source }: Pick<Account, 'source'>): string {
  return `from ${source === 'database' || source === 'simulator' ? 'the ' : ''}${source}`;
}

/** What an operator does about the last error of a failing account. Empty: nothing. */
export function remedyOf(account: Pick<Account, 'id' | 'source' | 'lastError'>): string {
  const { lastError } = account;
  return lastError !== undefined && isFailing(account) ? failureRemedy(lastError, [account]) : '';
}

/** The changes of its use that an operator can make, from the current use. */
export function changesOf({
  use,
  state,
  cooldowns,
}: Pick<Account, 'use' | 'state' | 'cooldowns'>): readonly AccountUse[] {
  if (use === AccountUse.DISABLED) return [AccountUse.ACTIVE];
  if (use === AccountUse.DRAINING) return [AccountUse.ACTIVE, AccountUse.DISABLED];
  // Its provider took it out of service, or it pauses: enabling it ends that.
  const again = state === AccountState.DISABLED || cooldowns.length > 0 ? [AccountUse.ACTIVE] : [];
  return [...again, AccountUse.DRAINING, AccountUse.DISABLED];
}

/** Whether an account pauses because its provider refused it, which a probe does not end. */
export function isPausedAfterRefusal({ cooldowns }: Pick<Account, 'cooldowns'>): boolean {
  return cooldowns.some(({ reason }) => reason === AttemptResult.UNAUTHORIZED);
}

/** When the quotas of a pool run out. */
export type Forecast =
  | { readonly kind: 'unknown' | 'lasts' | 'none usable' }
  | { readonly kind: 'dry'; readonly window: string }
  | { readonly kind: 'ends'; readonly window: string; readonly atMs: number };

export function forecastOf({ outlook, endsAtMs, window }: QuotaForecast, nowMs: number): Forecast {
  if (outlook === QuotaOutlook.LASTS) return { kind: 'lasts' };
  if (outlook !== QuotaOutlook.ENDS || endsAtMs === undefined) return { kind: 'unknown' };
  if (window === '') return { kind: 'none usable' };
  return endsAtMs <= nowMs ? { kind: 'dry', window } : { kind: 'ends', window, atMs: endsAtMs };
}

const soonMs = 3_600_000;

export function forecastTone(forecast: Forecast, nowMs: number): Tone {
  if (forecast.kind === 'ends') return forecast.atMs - nowMs < soonMs ? 'bad' : 'warn';
  return forecast.kind === 'lasts' ? 'good' : forecast.kind === 'unknown' ? 'neutral' : 'bad';
}

/**
 * Accounts in service that have reported no quota: there is more in the pool than its forecast
 * knows.
 */
export function silentAccounts({ accounts }: Pick<PoolStatus, 'accounts'>): number {
  const outOfService: readonly AccountState[] = [AccountState.DISABLED, AccountState.DRAINING];
  return accounts.filter(({ state, windows }) => !outOfService.includes(state) && windows.length === 0).length;
}
