import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect';
import { GroupService } from '@gateway/proto/admin/v1/group_service_pb.js';
import { TokenService } from '@gateway/proto/admin/v1/token_service_pb.js';
import { BudgetPeriod } from '@gateway/proto/limiter/v2/limit_pb.js';
import { describe, expect, it } from 'vitest';
import { CommandLine } from '../__fixtures__/command-line.ts';

const id = '01a1fc6b-b507-756f-be4c-3808a428abd3';
const group = {
  groupId: id,
  name: 'Team A',
  limits: {
    requestsPerMinute: 60,
    concurrentRequests: 5,
    budget: { amountMicros: 250_000_000, period: BudgetPeriod.MONTH },
  },
  access: { models: ['claude*'], accountLabels: [] },
  tokens: 3,
  revision: 4,
};
const listing = {
  group,
  limits: {
    requests: { limit: 60, remaining: 48 },
    concurrency: { limit: 5, running: 2 },
    budget: { amountMicros: 250_000_000, spentMicros: 12_500_000, reservedMicros: 400_000 },
  },
};

function commandLine(methods: Partial<ServiceImpl<typeof GroupService>> = {}) {
  const asked: unknown[] = [];
  const remember =
    <T>(answer: T) =>
    (request: unknown) => {
      asked.push(request);
      return answer;
    };
  const service = {
    listGroups: remember({ groups: [listing], currency: 'EUR' }),
    getGroup: remember({ group: listing, currency: 'EUR' }),
    createGroup: remember({ group }),
    updateGroup: remember({ group }),
    deleteGroup: remember({}),
    ...methods,
  };
  const tokens = {
    listTokens: () => ({ tokens: ['ci', 'build'].map((label) => ({ token: { label } })) }),
    issueToken: remember({ token: { tokenId: 'token-1', label: 'ci' }, tokenText: 'gw_s_text' }),
  };
  return {
    line: new CommandLine((router) => router.service(GroupService, service).service(TokenService, tokens)),
    asked,
  };
}

describe('gatewayctl group', () => {
  it('creates a group with the limits and rules of the flags, and prints its id', async () => {
    const { line, asked } = commandLine();
    const limits = ['--rpm', '60', '--tpd', '1000', '--strict', '--concurrent', '5', '--budget', '12.50/week'];
    const rules = ['--models', 'claude*, snel', '--account-labels', 'team-a'];
    const { printed, notes } = await line.run('group', 'create', 'Team A', ...limits, ...rules, '--note', 'of ops');
    expect({ printed, notes }).toEqual({ printed: `${id}\n`, notes: `created ${id} (Team A)` });
    expect(asked).toMatchObject([
      {
        name: 'Team A',
        note: 'of ops',
        limits: {
          requestsPerMinute: 60,
          tokensPerDay: 1_000,
          strictTokens: true,
          concurrentRequests: 5,
          budget: { amountMicros: 12_500_000, period: BudgetPeriod.WEEK },
        },
        access: { models: ['claude*', 'snel'], accountLabels: ['team-a'] },
      },
    ]);
  });

  it('shows the use of every limit, and of the budget in its currency', async () => {
    const { line } = commandLine();
    const [, row] = (await line.run('group', 'list')).lines;
    expect(row).toMatch(/Team A +3 +12 of 60 +– +2 of 5 +12\.50 EUR of 250\.00 EUR per month, 0\.40 EUR reserved$/);
    const { printed } = await line.run('group', 'show', 'Team A');
    expect(printed).toMatch(/^models +claude\*$/m);
    expect(printed).toMatch(/^tokens +ci, build, 1 more$/m);
    expect(printed).toMatch(/^budget +12\.50 EUR of 250\.00 EUR per month, 0\.40 EUR reserved$/m);
  });

  it('changes only what the flags name, on the revision that it has seen', async () => {
    const { line, asked } = commandLine();
    await line.run('group', 'set', 'Team A', '--budget', 'none', '--models', 'none');
    const { requestsPerMinute, concurrentRequests } = group.limits;
    expect(asked.at(-1)).toMatchObject({
      ...{ groupId: id, expectedRevision: 4, limits: { requestsPerMinute, concurrentRequests } },
      access: { models: [] },
    });
    expect(asked.at(-1)).not.toHaveProperty('limits.budget', expect.anything());
    await line.run('group', 'set', 'Team A', '--note', 'new');
    expect(asked.at(-1)).toMatchObject({ note: 'new' });
    expect(asked.at(-1)).not.toHaveProperty('limits', expect.anything());
  });

  it('changes whether requests reserve tokens per day, and shows it', async () => {
    const strict = { ...group, limits: { ...group.limits, tokensPerDay: 1_000, strictTokens: true } };
    const { line, asked } = commandLine({
      getGroup: () => ({ group: { ...listing, group: strict }, currency: 'EUR' }),
    });
    await line.run('group', 'set', 'Team A', '--concurrent', '6');
    expect(asked.at(-1)).toMatchObject({ limits: { tokensPerDay: 1_000, concurrentRequests: 6, strictTokens: true } });
    await line.run('group', 'set', 'Team A', '--no-strict');
    expect(asked.at(-1)).toMatchObject({ limits: { tokensPerDay: 1_000, strictTokens: false } });
    expect((await line.run('group', 'show', 'Team A')).printed).toMatch(/^tokens\/day +1000 \(strict\)$/m);
  });

  it('warns after a change, and succeeds', async () => {
    const warnings = ['The budget of 0.01 EUR is smaller than one request.', '1 model has no price.'];
    const { line } = commandLine({
      createGroup: () => ({ group, warnings }),
      updateGroup: () => ({ group, warnings }),
      getGroup: () => ({ group: { ...listing, warnings }, currency: 'EUR' }),
    });
    const created = await line.run('group', 'create', 'Team A', '--budget', '0.01/day');
    const notes = [`created ${id} (Team A)`, ...warnings].join('\n');
    expect(created).toMatchObject({ exitCode: 0, printed: `${id}\n`, notes });
    const changed = await line.run('group', 'set', 'Team A', '--budget', '0.01/day');
    expect(changed).toMatchObject({ exitCode: 0, notes: [`changed ${id} (Team A)`, ...warnings].join('\n') });
    expect((await line.run('group', 'show', 'Team A')).printed).toMatch(
      /\n\n! The budget.*\n\n! 1 model has no price\.\n$/,
    );
  });

  it('refuses a change without anything to change, and budgets that it does not understand', async () => {
    const { line, asked } = commandLine();
    expect((await line.run('group', 'set', 'Team A')).exitCode).toBe(2);
    for (const budget of ['250', '250/year', '-1/day', '1.1234567/day', 'a/day', '250/constructor'])
      expect(await line.run('group', 'create', 'x', '--budget', budget)).toMatchObject({ exitCode: 2 });
    expect(asked).toEqual([]);
  });

  it('deletes a group, and says how many tokens had it', async () => {
    const { line, asked } = commandLine();
    expect((await line.run('group', 'delete', 'Team A')).notes).toBe(`deleted ${id} (Team A); 3 tokens had it`);
    expect(asked.at(-1)).toMatchObject({ groupId: id });
  });

  it('asks before it renames or deletes a group that a setting names', async () => {
    const named = { group: { ...listing, namedBy: ['OIDC_PEOPLE_GROUPS'] } };
    const { line, asked } = commandLine({ getGroup: () => named });
    for (const args of [
      ['delete', 'Team A'],
      ['set', 'Team A', '--name', 'Team B'],
    ]) {
      const { notes, exitCode } = await line.run('group', ...args);
      expect([notes, exitCode]).toEqual([expect.stringContaining('OIDC_PEOPLE_GROUPS names the group Team A'), 2]);
      expect(asked).toEqual([]);
      expect((await line.run('group', ...args, '--yes')).exitCode).toBe(0);
      expect(asked.splice(0)).toMatchObject([{ groupId: id }]);
    }
    await line.run('group', 'set', 'Team A', '--name', 'Team A', '--note', 'new');
    expect(asked).toMatchObject([{ groupId: id }]);
  });

  it('says where to find a group that does not exist', async () => {
    const { line } = commandLine({
      getGroup: () => {
        throw new ConnectError('There is no group.', Code.NotFound);
      },
    });
    const { notes, exitCode } = await line.run('group', 'show', 'nope');
    expect({ notes, exitCode }).toEqual({
      notes: 'gatewayctl: no group nope. Run gatewayctl group list to see all groups.',
      exitCode: 1,
    });
  });
});

describe('gatewayctl token issue --group', () => {
  it('issues a token of the group', async () => {
    const { line, asked } = commandLine();
    await line.run('token', 'issue', '--label', 'ci', '--group', 'Team A');
    expect(asked).toMatchObject([{ group: 'Team A' }, { label: 'ci', groupId: id }]);
  });
});
