import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { type AccountSchema, AccountState, AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import {
  ListAccountsResponseSchema,
  type PoolBrokerService,
  type QuotaForecastSchema,
  QuotaOutlook,
} from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { Client } from '@gateway/rpc';
import { describe, expect, it } from 'vitest';
import { RememberingTerminal } from '../../__fixtures__/remembering-terminal.ts';
import { poolStatus } from '../pool.ts';

const nowMs = Date.parse('2026-11-21T12:00:00Z');
const in_ = (hours: number) => timestampFromMs(nowMs + hours * 3_600_000);

const used = (usedFraction: number, resetHours: number, more: object = {}) => ({
  name: '5h',
  usedFraction,
  resetsAt: in_(resetHours),
  lengthSeconds: 18_000,
  ...more,
});

type Forecast = MessageInitShape<typeof QuotaForecastSchema>;

interface Asked {
  readonly forecasts?: readonly Forecast[];
  readonly json?: boolean;
  readonly pool?: string;
}

async function printed(
  accounts: readonly MessageInitShape<typeof AccountSchema>[],
  { forecasts = [], pool, ...flags }: Asked = {},
) {
  const terminal = new RememberingTerminal();
  const asked: (string | undefined)[] = [];
  const listAccounts: Client<typeof PoolBrokerService>['listAccounts'] = async (request) => {
    asked.push(request.pool);
    return create(ListAccountsResponseSchema, { accounts: [...accounts], forecasts: [...forecasts] });
  };
  await poolStatus({ listAccounts }, pool, flags, nowMs);
  return { lines: terminal.lines, asked };
}

const endsIn = (hours: number, window = '5h', models = ''): Forecast => ({
  ...{ pool: 'responses', models, window },
  ...{ outlook: QuotaOutlook.ENDS, endsAt: in_(hours) },
});

const limited = {
  pool: 'responses',
  name: 'team-b',
  state: AccountState.COOLING,
  maxInFlight: 10,
  cooldowns: [{ until: in_(1), reason: AttemptResult.RATE_LIMITED, givenByProvider: true }],
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
  it('shows state, requests under way, headroom, quotas, and what keeps an account', async () => {
    const { lines } = await printed([busy, limited]);
    expect(lines[0]).toBe('pool responses: 1 of 2 accounts available');
    expect(lines.find((line) => line.startsWith('team-a'))).toMatch(
      /available +3\/10 +50 % +5h 50 %, anew in 3 h 0 min; 5h_opus of opus-\* 75 %, anew in 3 h 0 min +refreshed by hand$/,
    );
    expect(lines.find((line) => line.startsWith('team-b'))).toMatch(
      /cooling +0\/10 +0 % .*cools until 2026-11-21T13:00:00\.000Z after rate_limited, as the provider said$/,
    );
  });

  it('says when a pool is used up at the present rate, or that it is not, and that it may be more than is known', async () => {
    const { lines } = await printed([busy], { forecasts: [endsIn(2), endsIn(2 / 3, '5h_opus', 'opus-*')] });
    expect(lines[1]).toBe(
      '  quotas: the 5h windows are used up at 2026-11-21T14:00:00.000Z (in 2 h 0 min) at the present rate',
    );
    expect(lines[2]).toMatch(/^ {2}opus-\*: the 5h_opus windows are used up at 2026-11-21T12:40:00/);
    const idle = await printed([busy], { forecasts: [{ pool: 'responses', outlook: QuotaOutlook.LASTS }] });
    expect(idle.lines[1]).toBe('  quotas: they last at the present rate');
    expect((await printed([{ ...busy, windows: [] }])).lines[1]).toMatch(/quotas: .*not known/);
    const silent = { ...busy, windows: [], name: 'silent' };
    const spent = await printed([limited, silent], { forecasts: [endsIn(0)] });
    expect(spent.lines[1]).toBe('  quotas: the 5h windows are used up now; 1 more account has not reported its own');
    const drained = { ...silent, state: AccountState.DRAINING };
    const cooling = await printed([limited, drained], { forecasts: [endsIn(0, '')] });
    expect(cooling.lines[1]).toBe('  quotas: no account can be used now');
  });

  it('is one JSON object a pool for programs', async () => {
    const forecasts = [endsIn(2), endsIn(2 / 3, '5h_opus', 'opus-*')].map((end) => ({ ...end, pool: 'messages' }));
    const { lines, asked } = await printed([limited, { ...busy, pool: 'messages' }], { forecasts, json: true });
    const [messages, responses] = lines.map((line) => JSON.parse(line));
    expect(messages).toMatchObject({
      pool: 'messages',
      exhaustion: { estimate: 'at', at: '2026-11-21T14:00:00.000Z', window: '5h' },
      families: [{ models: 'opus-*', estimate: 'at', at: '2026-11-21T12:40:00.000Z', window: '5h_opus' }],
      accounts: [{ account: 'team-a', state: 'available', inFlight: 3, maxInFlight: 10, headroom: 0.5 }],
    });
    expect(responses.accounts[0].cooldowns).toEqual([
      { models: '', until: '2026-11-21T13:00:00.000Z', reason: 'rate_limited', givenByProvider: true },
    ]);
    expect(responses.exhaustion).toEqual({ estimate: 'unknown' });
    expect(asked).toEqual(['']);
  });

  it('refuses a pool that does not exist', async () => {
    await expect(printed([], { pool: 'nowhere' })).rejects.toThrow(/no pool nowhere/);
  });
});
