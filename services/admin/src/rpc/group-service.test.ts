import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { Code } from '@connectrpc/connect';
import { GroupService } from '@gateway/proto/admin/v1/group_service_pb.js';
import {
  type Group,
  GroupSchema,
  GroupService as IdentityGroups,
} from '@gateway/proto/identity/v1/identity_service_pb.js';
import { BudgetPeriod } from '@gateway/proto/limiter/v2/limit_pb.js';
import { LimiterService } from '@gateway/proto/limiter/v2/limiter_service_pb.js';
import { PoolBrokerService, PoolOperatorService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { UsageReportService } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { startOfLocalDayMs } from '@gateway/time';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fieldsOf, peer, rpcWorld, startMs } from '../__fixtures__/rpc-world.ts';
import { budgetEndMs, groupService } from './group-service.ts';

const budget = { amountMicros: 100, period: BudgetPeriod.MONTH };
const firstDay = '2026-11-01';
const resetsAtMs = startOfLocalDayMs('2026-12-01');
const teamA = group({ groupId: 'aaa1', name: 'Team A', limits: { requestsPerMinute: 60, budget } });
const teamB = group({ groupId: 'aab2', name: 'Team B' });

describe('listing groups', () => {
  it('shows the state of their limits, and their usage on each of 14 days, today last', async () => {
    const { client } = await worldOf([teamA, teamB]);
    const { groups, currency } = await client.listGroups({});
    expect(currency).toBe('EUR');
    expect(groups.map((each) => each.group?.name)).toEqual(['Team A', 'Team B']);
    expect(groups[0]?.limits?.budget).toMatchObject({ spentMicros: 50, reservedMicros: 5 });
    expect(groups[1]?.limits).toBeUndefined();
    expect(groups[0]?.tokensByDay).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 11]);
  });

  it("leaves out values that the limiter, the ledger and the broker can't return", async () => {
    const { client } = await worldOf([teamA], { isAway: true });
    const { groups, currency } = await client.listGroups({});
    expect(currency).toBe('');
    expect(groups).toMatchObject([{ group: { name: 'Team A' }, tokensByDay: [] }]);
    expect(groups[0]?.limits).toBeUndefined();
    expect(groups[0]?.budgetEndsAtMs).toBeUndefined();
  });
});

describe('one group', () => {
  it.each([
    ['aaa1', 'aaa1'],
    ['aab', 'aab2'],
    [' Team B ', 'aab2'],
  ])('is meant by %j', async (wanted, groupId) => {
    const { client } = await worldOf([teamA, teamB]);
    expect((await client.getGroup({ group: wanted })).group?.group?.groupId).toBe(groupId);
  });

  it('is asked for more exactly when several are meant, and not found when none is', async () => {
    const { client } = await worldOf([teamA, teamB]);
    await expect(client.getGroup({ group: 'aa' })).rejects.toMatchObject({ code: Code.InvalidArgument });
    await expect(client.getGroup({ group: 'none' })).rejects.toMatchObject({ code: Code.NotFound });
    expect(Object.keys(await fieldsOf(client.getGroup({ group: ' ' })))).toEqual(['group']);
  });
});

describe('changing groups', () => {
  it('reports every problem at its field, and nothing reaches identity or the audit log', async () => {
    const { client, audited, changes } = await worldOf([teamA]);
    const wrong = { name: '', note: '\u0000', limits: { tokensPerDay: -1, budget: { amountMicros: -1 } } };
    const fields = ['limits.budget.amount', 'limits.budget.period', 'limits.tokensPerDay', 'name', 'note'];
    expect(Object.keys(await fieldsOf(client.createGroup(wrong))).toSorted()).toEqual(fields);
    expect(Object.keys(await fieldsOf(client.updateGroup({ ...wrong, groupId: 'aaa1' }))).toSorted()).toEqual(fields);
    expect(await fieldsOf(client.createGroup({ name: 'b', limits: { strictTokens: true } }))).toEqual({
      'limits.strictTokens': 'Needs a limit of tokens per day.',
    });
    expect(await fieldsOf(client.createGroup({ name: ' Team A ' }))).toEqual({
      name: 'A group with the name Team A exists already.',
    });
    await expect(client.updateGroup({ groupId: 'none', note: 'x' })).rejects.toMatchObject({ code: Code.NotFound });
    await expect(client.deleteGroup({ groupId: 'none' })).rejects.toMatchObject({ code: Code.NotFound });
    expect([changes, await audited()]).toEqual([[], []]);
  });

  it('may keep its own name', async () => {
    const { client } = await worldOf([teamA, teamB]);
    expect((await client.updateGroup({ groupId: 'aaa1', name: 'Team A' })).group?.revision).toBe(2);
    expect(Object.keys(await fieldsOf(client.updateGroup({ groupId: 'aaa1', name: 'Team B' })))).toEqual(['name']);
  });

  it('is audited with the state before and after', async () => {
    const { client, audited, time } = await worldOf([teamA]);
    await client.createGroup({ name: 'Team C', limits: { budget } });
    time.advanceMs(1);
    await client.updateGroup({ groupId: 'aaa1', note: 'of ops' });
    time.advanceMs(1);
    await client.deleteGroup({ groupId: 'aaa1' });
    expect(await audited()).toMatchObject([
      { action: 'group.create', subject: 'Team C', after: { limits: { budget: { amountMicros: 100 } } } },
      { action: 'group.update', subject: 'Team A', before: { name: 'Team A' }, after: { note: 'of ops' } },
      { action: 'group.delete', subject: 'Team A', before: { note: 'of ops' } },
    ]);
  });

  it('is refused if another operator changed the group meanwhile', async () => {
    const { client } = await worldOf([teamA]);
    const change = client.updateGroup({ groupId: 'aaa1', note: 'x', expectedRevision: 7 });
    await expect(change).rejects.toMatchObject({ code: Code.Aborted });
  });

  it('warns of models without a price, and of a budget that is smaller than a usual reservation', async () => {
    const { client } = await worldOf([teamA, teamB]);
    const warnings = [
      '1 model has no price, and is refused: new.',
      expect.stringMatching(/^The budget of 0\.0001 EUR .* one request of a usually reserves \(0\.041 EUR\)/),
    ];
    expect((await client.createGroup({ name: 'Team C', limits: { budget } })).warnings).toEqual(warnings);
    expect((await client.createGroup({ name: 'Team D' })).warnings).toEqual([]);
    expect((await client.updateGroup({ groupId: 'aaa1', note: 'x' })).warnings).toEqual(warnings);
    expect((await client.updateGroup({ groupId: 'aab2', note: 'x' })).warnings).toEqual([]);
    const { group: listing } = await client.getGroup({ group: 'aaa1' });
    expect(listing).toMatchObject({ modelsWithoutPrice: ['new'], warnings });
    const { groups, modelsWithoutPrice } = await client.listGroups({});
    expect([groups[0]?.warnings, groups[1]?.warnings, modelsWithoutPrice]).toEqual([warnings, [], ['new']]);
  });

  it('is done without warnings while the broker is away', async () => {
    const { client } = await worldOf([teamA], { isAway: true });
    expect(await client.createGroup({ name: 'Team C', limits: { budget } })).toMatchObject({
      group: { name: 'Team C' },
      warnings: [],
    });
  });

  it('is repeated on the newer state if the caller has seen none', async () => {
    const { client, audited, groups } = await worldOf([teamA], {
      beforeUpdate: () => {
        if (groups[0]?.note === '') groups[0] = group({ ...groups[0], note: 'by another', revision: 9 });
      },
    });
    expect((await client.updateGroup({ groupId: 'aaa1', name: 'New' })).group?.name).toBe('New');
    expect(await audited()).toMatchObject([{ before: { note: 'by another' }, after: { name: 'New' } }]);
  });
});

describe('the forecast of a budget', () => {
  const endMs = (spentMicros: number, nowMs: number) =>
    budgetEndMs({ budget: { ...budget, spentMicros, firstDay, resetsAtMs } as never }, nowMs);
  const firstMs = startOfLocalDayMs(firstDay);

  it('is the instant at which the whole amount is spent, at the rate so far', () => {
    expect(endMs(50, firstMs + 1_000_000)).toBe(firstMs + 2_000_000);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 99 }), fc.integer({ min: 1, max: 29 }), (spent, days) => {
        const elapsedMs = days * 86_400_000;
        const atMs = endMs(spent, firstMs + elapsedMs);
        const exactMs = firstMs + (elapsedMs * 100) / spent;
        if (exactMs < resetsAtMs) expect(Math.abs((atMs ?? 0) - exactMs)).toBeLessThanOrEqual(1);
        else expect(atMs).toBeUndefined();
      }),
    );
  });

  it('is now once it is spent, and nothing while nothing is, or without a budget', () => {
    expect(endMs(100, firstMs + 5)).toBe(firstMs + 5);
    expect(endMs(0, firstMs + 5)).toBeUndefined();
    expect(budgetEndMs(undefined, firstMs)).toBeUndefined();
  });
});

interface Troubles {
  /** Whether everything but identity is away. */
  readonly isAway?: boolean;
  readonly beforeUpdate?: () => void;
}

const file = { currency: 'EUR', prices: [{ model: 'a', outputMicros: 10_000_000 }] };

async function worldOf(known: readonly Group[], { isAway = false, beforeUpdate }: Troubles = {}) {
  const groups = [...known];
  const changes: string[] = [];
  const unlessAway = <T>(answer: T) => {
    if (isAway) throw new Error('away');
    return answer;
  };
  const identity = peer(IdentityGroups, {
    listGroups: () => ({ groups }),
    createGroup: ({ name, limits }) => {
      changes.push('create');
      return { group: group({ groupId: 'new1', name, limits }) };
    },
    updateGroup({ groupId, name, note, expectedRevision }) {
      beforeUpdate?.();
      const at = groups.findIndex((each) => each.groupId === groupId);
      const before = groups[at];
      if (before === undefined || before.revision !== expectedRevision) return { conflict: true };
      changes.push('update');
      const changed = { name: name ?? before.name, note: note ?? before.note, revision: before.revision + 1 };
      groups[at] = group({ ...before, ...changed });
      return { group: groups[at] };
    },
    deleteGroup: ({ groupId }) => ({ group: groups.find((each) => each.groupId === groupId) }),
  });
  const status = { budget: { ...budget, spentMicros: 50, reservedMicros: 5, firstDay, resetsAtMs } };
  const peers = {
    groups: identity,
    limiter: peer(LimiterService, { peek: () => unlessAway({ status }) }),
    poolOperator: peer(PoolOperatorService, { getGatewayFile: () => unlessAway({ file }) }),
    broker: peer(PoolBrokerService, {
      listModels: () => unlessAway({ models: ['a', 'new'].map((id) => ({ id, candidates: [id], servedBy: [{}] })) }),
    }),
    usageReport: peer(UsageReportService, {
      reportUsage: ({ groupId }) =>
        unlessAway({ rows: groupId === 'aaa1' ? [{ localDay: '2026-11-23', totals: { inputTokens: 11 } }] : [] }),
    }),
  };
  return { ...(await rpcWorld(GroupService, groupService, peers)), groups, changes };
}

function group(details: MessageInitShape<typeof GroupSchema>): Group {
  return create(GroupSchema, { revision: 1, createdAtMs: startMs, ...details });
}
