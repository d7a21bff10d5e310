import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  AccountSchema,
  AccountState,
  AccountUse,
  AttemptResult,
  CooldownSchema,
  ProviderFormat,
} from '@gateway/proto/pool/v1/account_pb.js';
import { QuotaForecastSchema, QuotaOutlook } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { describe, expect, it } from 'vitest';
import {
  changesOf,
  cooldownText,
  forecastOf,
  forecastTone,
  remedyOf,
  runningCooldowns,
  silentAccounts,
  sourceText,
  standCounts,
  standOf,
  usualCredentialKind,
} from './account-words.ts';

const { ACTIVE, DRAINING, DISABLED } = AccountUse;
const nowMs = Date.parse('2026-11-22T12:00:00Z');
const inHours = (hours: number) => nowMs + hours * 3_600_000;
const account = (init: MessageInitShape<typeof AccountSchema>) => create(AccountSchema, init);

describe('the state of an account', () => {
  it('is failing while it is available but its last attempts all failed', () => {
    const lastError = { inARow: 3, result: AttemptResult.NETWORK_ERROR };
    expect(standOf(account({ state: AccountState.AVAILABLE, lastError })).text).toBe('Failing');
    expect(standOf(account({ state: AccountState.AVAILABLE, lastError: { inARow: 0 } })).text).toBe('Available');
    expect(standOf(account({ state: AccountState.COOLING, lastError })).text).toBe('Cooling');
  });

  it('tells what an operator did from what a provider did', () => {
    expect(standOf({ state: AccountState.DISABLED, use: DISABLED })).toEqual({ tone: 'neutral', text: 'Disabled' });
    expect(standOf({ state: AccountState.DISABLED, use: ACTIVE })).toEqual({ tone: 'bad', text: 'Needs attention' });
  });

  it('is counted for a pool: failing accounts are red, those that an operator disabled are not', () => {
    const lastError = { inARow: 3, result: AttemptResult.NETWORK_ERROR };
    const accounts = [
      account({ state: AccountState.DISABLED, use: DISABLED }),
      account({ state: AccountState.DISABLED, use: ACTIVE }),
      account({ state: AccountState.AVAILABLE, lastError }),
      account({ state: AccountState.AVAILABLE }),
      account({ state: AccountState.AVAILABLE }),
    ];
    expect(standCounts(accounts)).toEqual([
      { tone: 'good', text: '2 available' },
      { tone: 'bad', text: '1 out of service' },
      { tone: 'bad', text: '1 failing' },
      { tone: 'neutral', text: '1 disabled' },
    ]);
    expect(standCounts([])).toEqual([]);
  });

  it('comes with the remedy while it is failing', () => {
    const rejected = { inARow: 1, result: AttemptResult.UNAUTHORIZED, upstreamStatus: 401 };
    const failing = { id: 'p/a', source: 'OPENAI_API_KEY', lastError: rejected };
    expect(remedyOf(account(failing))).toBe(
      'Set OPENAI_API_KEY to a valid key, and restart the gateway. If the provider accepts the key again, gatewayctl account enable p/a ends the pause at once.',
    );
    expect(remedyOf(account({ ...failing, lastError: { ...rejected, inARow: 0 } }))).toBe('');
    expect(remedyOf(account({ id: 'p/a', source: 'gateway.yaml' }))).toBe('');
  });

  it('comes from somewhere', () => {
    const sources = ['database', 'gateway.yaml', 'OPENAI_API_KEY', 'simulator'];
    expect(sources.map((source) => sourceText({ source }))).toEqual([
      'from the database',
      'from gateway.yaml',
      'from OPENAI_API_KEY',
      'from the simulator',
    ]);
  });

  it('can be changed to every other state', () => {
    expect(changesOf({ state: AccountState.AVAILABLE, use: ACTIVE, cooldowns: [] })).toEqual([DRAINING, DISABLED]);
    expect(changesOf({ state: AccountState.DISABLED, use: ACTIVE, cooldowns: [] })).toEqual([
      ACTIVE,
      DRAINING,
      DISABLED,
    ]);
    expect(changesOf({ state: AccountState.DRAINING, use: DRAINING, cooldowns: [] })).toEqual([ACTIVE, DISABLED]);
    expect(changesOf({ state: AccountState.DISABLED, use: DISABLED, cooldowns: [] })).toEqual([ACTIVE]);
  });

  it('can be enabled while it pauses, whatever the cause', () => {
    const pausedAfter = (reason: AttemptResult) =>
      changesOf({ state: AccountState.COOLING, use: ACTIVE, cooldowns: [create(CooldownSchema, { reason })] });
    expect(pausedAfter(AttemptResult.UNAUTHORIZED)).toEqual([ACTIVE, DRAINING, DISABLED]);
    expect(pausedAfter(AttemptResult.RATE_LIMITED)).toEqual([ACTIVE, DRAINING, DISABLED]);
    expect(changesOf({ state: AccountState.AVAILABLE, use: ACTIVE, cooldowns: [] })).toEqual([DRAINING, DISABLED]);
  });
});

describe('a cooldown', () => {
  it('names the models and the reason', () => {
    const cooldown = create(CooldownSchema, {
      model: 'claude-opus-*',
      reason: AttemptResult.RATE_LIMITED,
    });
    expect(cooldownText(cooldown)).toBe('claude-opus-*: rate limited by the provider');
    const lack = create(CooldownSchema, { feature: 'context-1m-*', reason: AttemptResult.FEATURE_UNAVAILABLE });
    expect(cooldownText(lack)).toBe('context-1m-*: feature not available to this account');
  });

  it('is over when its moment has passed', () => {
    const cooldowns = [{ untilMs: inHours(-1) }, { until: inHours(1), model: 'a' }, { model: 'b' }];
    expect(runningCooldowns(account({ cooldowns }), nowMs).map(({ model }) => model)).toEqual(['a', 'b']);
  });
});

describe('the forecast of a pool', () => {
  const forecast = (init: MessageInitShape<typeof QuotaForecastSchema>) =>
    forecastOf(create(QuotaForecastSchema, init), nowMs);

  it('is a moment, or says why there is none', () => {
    const ends = forecast({ outlook: QuotaOutlook.ENDS, endsAtMs: inHours(0.5), window: '5h' });
    expect(ends).toEqual({ kind: 'ends', window: '5h', atMs: nowMs + 1_800_000 });
    expect(forecastTone(ends, nowMs)).toBe('bad');
    expect(forecastTone({ ...ends, kind: 'ends', window: '5h', atMs: nowMs + 7_200_000 }, nowMs)).toBe('warn');
    expect(forecast({ outlook: QuotaOutlook.ENDS, endsAtMs: inHours(0), window: '5h' })).toEqual({
      kind: 'dry',
      window: '5h',
    });
    expect(forecast({ outlook: QuotaOutlook.ENDS, endsAtMs: inHours(0) })).toEqual({ kind: 'none usable' });
    expect(forecast({ outlook: QuotaOutlook.LASTS })).toEqual({ kind: 'lasts' });
    expect(forecast({})).toEqual({ kind: 'unknown' });
  });

  it('leaves out accounts that reported no quota', () => {
    const accounts = [
      { state: AccountState.AVAILABLE },
      { state: AccountState.DISABLED },
      { state: AccountState.COOLING, windows: [{ name: '5h' }] },
    ];
    expect(silentAccounts({ accounts: accounts.map(account) })).toBe(1);
  });
});

describe('the kind of credential that a form offers first', () => {
  it.each([
    ['bearer', {}],
    ['bearer', { format: ProviderFormat.RESPONSES }],
    ['apiKey', { format: ProviderFormat.MESSAGES }],
    ['bearer', { format: ProviderFormat.MESSAGES, credentialKind: 'bearer' }],
    ['apiKey', { credentialKind: 'api_key' }],
    ['oauth', { credentialKind: 'oauth' }],
  ] as const)('is %s for %j', (kind, known) => {
    expect(usualCredentialKind(known)).toBe(kind);
  });
});
