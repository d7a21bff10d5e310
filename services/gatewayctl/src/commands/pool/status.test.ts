import type { MessageInitShape } from '@bufbuild/protobuf';
import { PoolService } from '@gateway/proto/admin/v1/pool_service_pb.js';
import { type AccountSchema, AccountState, AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import {
  type PoolPauseSchema,
  type QuotaForecastSchema,
  QuotaOutlook,
} from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { CommandLine } from '../../__fixtures__/command-line.ts';

const nowMs = Date.parse('2026-11-21T12:00:00Z');
const in_ = (hours: number) => nowMs + hours * 3_600_000;

const used = (usedFraction: number, resetHours: number, more: object = {}) => ({
  name: '5h',
  usedFraction,
  resetsAtMs: in_(resetHours),
  lengthSeconds: 18_000,
  ...more,
});

type Forecast = MessageInitShape<typeof QuotaForecastSchema>;

interface Asked {
  readonly forecasts?: readonly Forecast[];
  readonly pauses?: readonly MessageInitShape<typeof PoolPauseSchema>[];
  readonly args?: readonly string[];
}

type Accounts = readonly MessageInitShape<typeof AccountSchema>[];

function commandLine(accounts: Accounts, { forecasts = [], pauses = [] }: Asked = {}) {
  const asked: string[] = [];
  const pools = [...Map.groupBy(accounts, ({ pool = '' }) => pool)].map(([name, ofPool]) => ({
    pool: { name },
    accounts: [...ofPool],
    forecasts: forecasts.filter(({ pool }) => pool === name),
    pauses: pauses.filter(({ pool }) => pool === name),
  }));
  const overview = { pools };
  const line = new CommandLine((router) =>
    router.service(PoolService, {
      listPools: ({ pool }) => {
        asked.push(pool);
        return { overview };
      },
      async *watchPools() {
        yield { overview };
        yield { overview };
      },
    }),
  );
  return { line, asked };
}

async function printed(accounts: Accounts, asked: Asked = {}) {
  return await commandLine(accounts, asked).line.run('pool', 'status', ...(asked.args ?? []));
}

const endsIn = (hours: number, window = '5h', models = ''): Forecast => ({
  ...{ pool: 'responses', models, window },
  ...{ outlook: QuotaOutlook.ENDS, endsAtMs: in_(hours) },
});

const limited = {
  pool: 'responses',
  name: 'team-b',
  state: AccountState.COOLING,
  maxInFlight: 10,
  cooldowns: [{ untilMs: in_(1), reason: AttemptResult.RATE_LIMITED, givenByProvider: true }],
  windows: [used(1, 1)],
};
const busy = {
  pool: 'responses',
  name: 'team-a',
  state: AccountState.AVAILABLE,
  inFlight: 3,
  maxInFlight: 10,
  windows: [used(0.5, 3), used(0.75, 3, { name: '5h_opus', models: 'opus-*' })],
  note: 'refreshed by hand',
};

describe('gatewayctl pool status', () => {
  beforeEach(() => void vi.useFakeTimers({ now: nowMs, toFake: ['Date'] }));
  afterEach(() => void vi.useRealTimers());

  it('shows state, requests in progress, headroom, quotas, and the reason of a pause', async () => {
    const { lines } = await printed([busy, limited]);
    expect(lines[0]).toBe('pool responses: 1 of 2 accounts available');
    expect(lines.find((line) => line.startsWith('team-a'))).toMatch(
      /available +3\/10 +50 % +5h 50 %, resets in 3 h; 5h_opus of opus-\* 75 %, resets in 3 h +refreshed by hand$/,
    );
    expect(lines.find((line) => line.startsWith('team-b'))).toMatch(
      /cooling +0\/10 +0 % .*cooling until 2026-11-21 13:00:00 UTC after rate_limited \(reset named by the provider\)$/,
    );
  });

  it('says when a pool is paused, why and until when, though its accounts are available', async () => {
    const { OVERLOADED, SERVER_ERROR } = AttemptResult;
    const ofModel = { reason: OVERLOADED, wholePool: true, model: 'gpt-5.5', untilMs: in_(1) };
    const pauses = [ofModel, { reason: SERVER_ERROR }].map((pause) => ({ pool: 'responses', ...pause }));
    const { lines } = await printed([busy], { pauses });
    expect(lines.slice(0, 3)).toEqual([
      'pool responses: 1 of 1 account available',
      '  paused until 2026-11-21 13:00:00 UTC: the provider is overloaded for gpt-5.5',
      '  paused; one request is testing whether the provider has recovered: no account is available (too many server errors in a row)',
    ]);
  });

  it('names the feature that an account is passed over for', async () => {
    const cooldown = { feature: 'context-1m-*', reason: AttemptResult.FEATURE_UNAVAILABLE, untilMs: in_(1) };
    const { lines } = await printed([{ ...busy, cooldowns: [cooldown] }]);
    expect(lines.join('\n')).toContain(
      'cooling for context-1m-* until 2026-11-21 13:00:00 UTC after feature_unavailable',
    );
  });

  it('says when a pool is used up at the present rate, or that it is not, and that it may be more than is known', async () => {
    const { lines } = await printed([busy], { forecasts: [endsIn(2), endsIn(2 / 3, '5h_opus', 'opus-*')] });
    expect(lines[1]).toBe('  quotas: 5h quota used up at 2026-11-21 14:00:00 UTC (in 2 h) at the current rate');
    expect(lines[2]).toMatch(/^ {2}opus-\*: 5h_opus quota used up at 2026-11-21 12:40:00 UTC/);
    const idle = await printed([busy], { forecasts: [{ pool: 'responses', outlook: QuotaOutlook.LASTS }] });
    expect(idle.lines[1]).toBe('  quotas: do not run out at the current rate');
    expect((await printed([{ ...busy, windows: [] }])).lines[1]).toMatch(/quotas: no forecast/);
    const silent = { ...busy, windows: [], name: 'silent' };
    const spent = await printed([limited, silent], { forecasts: [endsIn(0)] });
    expect(spent.lines[1]).toBe('  quotas: 5h quota used up; 1 account without a reported quota may last longer');
    const drained = { ...silent, state: AccountState.DRAINING };
    const cooling = await printed([limited, drained], { forecasts: [endsIn(0, '')] });
    expect(cooling.lines[1]).toBe('  quotas: no account is available');
  });

  it('is the same for programs, with numbers as numbers', async () => {
    const forecasts = [endsIn(2)].map((end) => ({ ...end, pool: 'messages' }));
    const { json } = await printed([{ ...busy, pool: 'messages' }, limited], { forecasts, args: ['-o', 'json'] });
    const [messages, responses] = json().pools;
    expect(messages).toMatchObject({
      pool: { name: 'messages' },
      accounts: [{ name: 'team-a', state: 'available', inFlight: 3, maxInFlight: 10 }],
      forecasts: [{ models: '', outlook: 'ends', endsAt: '2026-11-21T14:00:00.000Z', window: '5h' }],
    });
    expect(responses.accounts[0].cooldowns).toEqual([
      { until: '2026-11-21T13:00:00.000Z', model: '', feature: '', reason: 'rate_limited', givenByProvider: true },
    ]);
  });

  it('asks for one pool, and refuses one that does not exist', async () => {
    const { line, asked } = commandLine([]);
    expect(await line.run('pool', 'status', 'nowhere')).toMatchObject({
      exitCode: 1,
      notes: 'gatewayctl: no pool nowhere. Run gatewayctl pool status to see all pools.',
    });
    expect(asked).toEqual(['nowhere']);
  });

  it('shows each state as it comes with --watch, a line of JSON each for programs', async () => {
    const { lines } = await printed([busy], { args: ['--watch', '-o', 'json'] });
    expect(lines.map((line) => JSON.parse(line).pools[0].pool.name)).toEqual(['responses', 'responses']);
  });
});

describe('gatewayctl pool explain', () => {
  const candidates = [
    {
      pool: 'responses',
      model: 'gpt-5.5',
      accounts: [
        { account: { ...limited, id: 'responses/team-b' }, reason: 'cooling after 429' },
        { account: { ...busy, id: 'responses/team-a' }, chosen: true },
      ],
    },
  ];

  it('names the account that would serve a request, and why the others would not', async () => {
    const line = new CommandLine((router) => router.service(PoolService, { explainModel: () => ({ candidates }) }));
    const { lines } = await line.run('pool', 'explain', 'gateway/sterk');
    expect(lines[0]).toBe('1. gpt-5.5 of responses');
    expect(lines[2]).toMatch(/^team-b +cooling +0 +cooling after 429$/);
    expect(lines.at(-1)).toBe('responses/team-a would serve it.');
  });

  it('joins the reason with the last error, without the full stop of the reason', async () => {
    const reason = 'disabled: An operator set it to disabled; gateway.yaml has active.';
    const lastError = {
      result: AttemptResult.UNAUTHORIZED,
      upstreamStatus: 401,
      inARow: 1,
      atMs: nowMs,
    };
    const accounts = [{ account: { ...limited, lastError }, reason }];
    const line = new CommandLine((router) =>
      router.service(PoolService, { explainModel: () => ({ candidates: [{ pool: 'responses', accounts }] }) }),
    );
    expect((await line.run('pool', 'explain', 'm')).printed).toMatch(
      /gateway\.yaml has active; 1 error, .* ago: 401 from the provider/,
    );
  });

  it('refuses a model that is not there, and a session without its token', async () => {
    const line = new CommandLine((router) => router.service(PoolService, { explainModel: () => ({}) }));
    expect((await line.run('pool', 'explain', 'nothing')).notes).toMatch(
      /no model or class nothing\. Run gatewayctl class list/,
    );
    expect((await line.run('pool', 'explain', 'm', '--session', 's')).exitCode).toBe(2);
  });
});
