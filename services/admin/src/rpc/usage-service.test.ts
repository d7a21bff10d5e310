import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { createContextValues, type HandlerContext } from '@connectrpc/connect';
import { openTestSqlite } from '@gateway/database/testing';
import { GatewayError } from '@gateway/errors';
import { Role } from '@gateway/proto/admin/v1/operator_service_pb.js';
import {
  ReconcileDayRequestSchema,
  ReplayDeadLettersRequestSchema,
  ReportUsageRequestSchema,
} from '@gateway/proto/admin/v1/usage_service_pb.js';
import { GroupService, TokenKind, TokenSchema } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { LimiterOperatorService, LimiterService } from '@gateway/proto/limiter/v2/limiter_service_pb.js';
import { PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import {
  type ReportUsageRequest,
  UsageGrouping,
  UsageLedgerService,
  type UsageReportRowSchema,
} from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { UsageQueryService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import type { Handlers } from '@gateway/rpc';
import { createLogger } from '@gateway/telemetry';
import { ManualTime } from '@gateway/time/simulated';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { AuditTrail } from '../access/audit-trail.ts';
import { type Caller, callerKey } from '../access/caller.ts';
import type { AdminPeers } from '../parts.ts';
import { clientOf, type FakeServices, fakePeers } from '../usage/__fixtures__/fake-peers.ts';
import { usageService } from './usage-service.ts';

beforeEach(() => {
  const time = new ManualTime(Date.parse('2026-11-20T10:00:00Z'));
  return () => time[Symbol.dispose]();
});

const operator: Caller = { kind: 'operator', operatorId: 'o', name: 'ann', role: Role.OPERATOR, address: '' };
const totals = (inputTokens: number) => ({
  requests: 1,
  inputTokens,
  cachedTokens: 0,
  cacheWrite5mTokens: 0,
  cacheWrite1hTokens: 0,
  outputTokens: 0,
});
const noKey = { localDay: '', tokenId: '', provider: '', model: '', accountId: '', groupId: '' };
const file = {
  currency: 'EUR',
  prices: [{ model: 'gpt-*', inputMicros: 2_000_000, cachedInputMicros: 0, outputMicros: 0 }],
};
const november = { firstDay: '2026-11-11', lastDay: '2026-11-20' };

interface World extends FakeServices {
  readonly others?: Partial<AdminPeers>;
  readonly caller?: Caller;
}

async function setUp({ others, caller = operator, ...services }: World) {
  const { database, ...opened } = await openTestSqlite();
  onTestFinished(() => opened[Symbol.asyncDispose]());
  const { peers } = fakePeers({ file, ...services });
  const audit = new AuditTrail(database);
  const parts = { peers: { ...peers, ...others }, database, audit, logger: createLogger('test', 'silent') };
  const values = createContextValues().set(callerKey, caller);
  const context = { signal: new AbortController().signal, values } as HandlerContext;
  return {
    service: usageService(parts),
    context,
    report: (fields: MessageInitShape<typeof ReportUsageRequestSchema>) =>
      usageService(parts).reportUsage(create(ReportUsageRequestSchema, { ...november, ...fields }), context),
    audited: async () =>
      (await database.selectFrom('audit_log').selectAll().execute()).map(
        ({ actor, action, subject, outcome, details }) => ({
          ...{ actor, action, subject, outcome },
          ...JSON.parse(details),
        }),
      ),
  };
}

/** A report with these rows for these periods, and the queries that it received. */
function reportOf(rows: (request: ReportUsageRequest) => MessageInitShape<typeof UsageReportRowSchema>[]) {
  const asked: ReportUsageRequest[] = [];
  const report: FakeServices['report'] = {
    reportUsage: (request) => {
      asked.push(request);
      return { rows: rows(request), nextPageToken: request.pageToken === '' ? '' : 'more' };
    },
  };
  return { report, asked };
}

describe('a report of usage', () => {
  it('has a row for each key, with the cost of all its models, and the labels of tokens', async () => {
    const { report, asked } = reportOf(() => [
      { tokenId: 'a', provider: 'p', model: 'gpt-5.5', totals: totals(1_000_000) },
      { tokenId: 'a', provider: 'p', model: 'other', totals: totals(5) },
      { tokenId: 'b', provider: 'p', model: 'gpt-5.5', totals: totals(250_000) },
    ]);
    const world = await setUp({ report, tokens: [{ tokenId: 'a', label: 'ci' }] });
    const query = { grouping: UsageGrouping.TOKEN, model: 'm', accountId: 'pool/a', pageToken: 'next' };
    expect(await world.report(query)).toEqual({
      rows: [
        {
          usage: { ...noKey, tokenId: 'a', totals: { ...totals(1_000_005), requests: 2 } },
          cost: { micros: 2_000_000, unpricedTokens: 5, unpricedCalls: 0, computedAfterwardsMicros: 2_000_000 },
          tokenLabel: 'ci',
        },
        {
          usage: { ...noKey, tokenId: 'b', totals: totals(250_000) },
          cost: { micros: 500_000, unpricedTokens: 0, unpricedCalls: 0, computedAfterwardsMicros: 500_000 },
          tokenLabel: '',
        },
      ],
      nextPageToken: 'more',
      currency: 'EUR',
    });
    expect(asked).toMatchObject([{ ...november, ...query, byModel: true }]);
  });

  it('by two groupings has a row for each pair, also in the days before', async () => {
    const { report, asked } = reportOf(({ firstDay }) => [
      { localDay: firstDay, tokenId: 'a', provider: 'p', model: 'gpt-5.5', totals: totals(2) },
      { localDay: firstDay, tokenId: 'a', provider: 'p', model: 'other', totals: totals(3) },
    ]);
    const world = await setUp({ report, tokens: [{ tokenId: 'a', label: 'ci' }] });
    const pair = { grouping: UsageGrouping.TOKEN, thenBy: UsageGrouping.MODEL };
    const { rows } = await world.report({ ...pair, compare: true });
    expect(rows).toMatchObject([
      { usage: { tokenId: 'a', model: 'gpt-5.5', totals: totals(2) }, tokenLabel: 'ci', before: totals(2) },
      { usage: { tokenId: 'a', model: 'other', totals: totals(3) }, tokenLabel: 'ci', before: totals(3) },
    ]);
    expect(asked).toMatchObject([pair, pair]);
  });

  it.each([
    ['days', UsageGrouping.DAY, { localDay: '2026-11-12' }, { localDay: '2026-11-02' }, '2026-11-02'],
    [
      'models',
      UsageGrouping.MODEL,
      { provider: 'p', model: 'gpt-5.5' },
      { provider: 'p', model: 'gpt-5.5' },
      '2026-11-01',
    ],
    ['accounts', UsageGrouping.ACCOUNT, { accountId: 'p/a' }, { accountId: 'p/a' }, '2026-11-01'],
  ])('by %s has the same rows of the same number of days before', async (_by, grouping, key, before, firstDay) => {
    const { report, asked } = reportOf((request) => {
      const ofModel = { provider: 'p', model: 'gpt-5.5' };
      if (request.firstDay !== november.firstDay) return [{ ...ofModel, ...before, totals: totals(1_000_000) }];
      return [{ ...ofModel, ...key, totals: totals(3_000_000) }];
    });
    const { rows } = await (await setUp({ report })).report({ grouping, compare: true });
    expect(rows).toMatchObject([
      {
        usage: { ...key, totals: totals(3_000_000) },
        cost: { micros: 6_000_000 },
        before: totals(1_000_000),
        costBefore: { micros: 2_000_000 },
      },
    ]);
    expect(asked.map((request) => request.firstDay)).toEqual([november.firstDay, firstDay]);
  });

  it('has no earlier values if there were none, and no cost without prices', async () => {
    const { report } = reportOf(({ firstDay }) =>
      firstDay === november.firstDay ? [{ accountId: 'p/a', totals: totals(1) }] : [],
    );
    const world = await setUp({ report, file: {} });
    const { rows, currency } = await world.report({ grouping: UsageGrouping.ACCOUNT, compare: true });
    expect(rows).toEqual([
      { usage: { ...noKey, accountId: 'p/a', totals: totals(1) }, cost: undefined, tokenLabel: '' },
    ]);
    expect(currency).toBe('');
  });

  it('has the cost that the ledger keeps, and computes the rest at the prices of today', async () => {
    const counts = { inputTokens: 1_000, cachedTokens: 400, cacheWrite1hTokens: 100, outputTokens: 10 };
    const { report } = reportOf(() => [
      { groupId: 'g', model: 'gpt-5.5', totals: { ...counts, costMicros: 77, costed: { ...counts } } },
      { groupId: 'g', model: 'gone', totals: { ...counts, costMicros: 5, costed: { ...counts } } },
      {
        groupId: 'g',
        model: 'gpt-6',
        totals: { ...counts, inputTokens: 3_000, costMicros: 100, costed: { ...counts } },
      },
      { groupId: 'g', model: 'unpriced', totals: { inputTokens: 9 } },
      // Served in a way that had no price: today's plain price is not its price.
      {
        ...{ groupId: 'g', model: 'gpt-6' },
        totals: { ...counts, costed: { ...counts }, unpricedTokens: 1_010, unpricedCalls: 3 },
      },
    ]);
    const { rows } = await (await setUp({ report })).report({ grouping: UsageGrouping.GROUP });
    expect(rows).toMatchObject([
      {
        usage: { groupId: 'g', totals: { cachedTokens: 1_600, cacheWrite1hTokens: 400 } },
        groupName: 'Research',
        cost: {
          ...{ micros: 77 + 5 + 100 + 4_000, computedAfterwardsMicros: 4_000 },
          ...{ unpricedTokens: 9 + 1_010, unpricedCalls: 3 },
        },
      },
    ]);
  });

  it('by account and group names the group of each row', async () => {
    const { report, asked } = reportOf(() => [{ accountId: 'p/a', groupId: 'g', model: 'gpt-5.5', totals: totals(2) }]);
    const both = { grouping: UsageGrouping.ACCOUNT, thenBy: UsageGrouping.GROUP, accountId: 'p/a', groupId: 'g' };
    const { rows } = await (await setUp({ report })).report(both);
    expect(rows).toMatchObject([
      { usage: { accountId: 'p/a', groupId: 'g', totals: totals(2) }, groupName: 'Research' },
    ]);
    expect(asked).toMatchObject([both]);
  });

  it('is refused for days that are none, in the wrong order, or too many', async () => {
    const world = await setUp({});
    await expect(world.report({ firstDay: '', lastDay: '2026-02-30' })).rejects.toThrow(/firstDay: .* lastDay: /);
    await expect(world.report({ firstDay: '2026-11-21' })).rejects.toThrow(/lastDay: Must not be before/);
    await expect(world.report({ firstDay: '1926-11-21' })).rejects.toThrow(/lastDay: Must be at most/);
  });
});

describe('usage of the own token', () => {
  const token = create(TokenSchema, {
    tokenId: 't',
    label: 'ci',
    kind: TokenKind.SERVICE,
    limits: { requestsPerMinute: 60 },
  });
  const usageQuery = clientOf(UsageQueryService, {
    getUsage: ({ tokenId }) => ({ today: { totals: totals(tokenId === 't' ? 7 : 0) }, lastSevenDays: {} }),
  });

  it('is its days with their costs, its limits as they are now, and nothing that is for operators', async () => {
    const { report, asked } = reportOf(() => [{ localDay: '2026-11-20', model: 'gpt-5.5', totals: totals(1_000_000) }]);
    const limiter = clientOf(LimiterService, {
      peek: ({ key, limits }) => ({ status: { localDay: `${key} ${limits?.requestsPerMinute}` } }),
    });
    const now = { tokenId: 't', label: 'ci', limits: { requestsPerMinute: 9 }, note: 'of the noisy team' };
    const world = await setUp({
      report,
      tokens: [now, { tokenId: 'another' }],
      others: { usageQuery, limiter },
      caller: { kind: 'token', token, address: '' },
    });
    const answer = await world.service.getMyUsage({ $typeName: 'gateway.admin.v1.GetMyUsageRequest' }, world.context);
    expect(answer).toMatchObject({
      token: { tokenId: 't', note: '' },
      limits: { localDay: 'token:t 9' },
      today: { totals: totals(7) },
      days: [{ usage: { localDay: '2026-11-20' }, cost: { micros: 2_000_000 } }],
      currency: 'EUR',
    });
    expect(asked).toMatchObject([{ tokenId: 't', firstDay: '2026-10-22', lastDay: '2026-11-20' }]);
  });

  const ownForecasts = async (broker: Partial<Handlers<typeof PoolBrokerService>>) => {
    const others = {
      ...{ usageQuery, limiter: clientOf(LimiterService, { peek: () => ({}) }) },
      broker: clientOf(PoolBrokerService, broker),
      groups: clientOf(GroupService, {
        listGroups: () => ({ groups: [{ groupId: 'g', name: 'Research', access: { accountLabels: ['reserved'] } }] }),
      }),
    };
    const member = { tokenId: 't', groupId: 'g', access: { accountLabels: ['batch', 'night'] } };
    const caller: Caller = { kind: 'token', token, address: '' };
    const world = await setUp({ report: reportOf(() => []).report, tokens: [member], others, caller });
    const { forecasts } = await world.service.getMyUsage(
      { $typeName: 'gateway.admin.v1.GetMyUsageRequest' },
      world.context,
    );
    return forecasts?.map(({ pool }) => pool);
  };

  it('has the forecasts of pools with an account that the rules of the token and of its group allow', async () => {
    const labelled = (pool: string, ...labels: readonly string[]) => ({ pool, labels: [...labels] });
    const listAccounts = () => ({
      accounts: [
        labelled('both', 'night', 'reserved'),
        labelled('one', 'night'),
        labelled('apart', 'reserved'),
        labelled('apart', 'batch'),
        labelled('none'),
      ],
      forecasts: ['both', 'one', 'apart', 'none'].map((pool) => ({ pool })),
    });
    expect(await ownForecasts({ listAccounts })).toEqual(['both']);
  });

  it('has no forecasts while the broker does not answer', async () => {
    expect(await ownForecasts({})).toEqual([]);
  });

  it('is not for operators, who have no token', async () => {
    const world = await setUp({});
    const asking = async () =>
      world.service.getMyUsage({ $typeName: 'gateway.admin.v1.GetMyUsageRequest' }, world.context);
    await expect(asking()).rejects.toThrow(/sign in with that token/);
  });
});

describe('the care of the ledger', () => {
  const usageLedger = clientOf(UsageLedgerService, {
    reconcileDay: ({ repair }) => ({ eventsKept: true, differenceCount: 2, repaired: repair }),
    replayDeadLetters: ({ pageToken }) => ({ replayed: 3, nextPageToken: `${pageToken}+` }),
  });
  const limiterOperator = clientOf(LimiterOperatorService, {
    reconcileDay: ({ key, groupKey, localDay }) => {
      if (localDay === '2026-11-19') throw new GatewayError('invalid_request', 'local_day must be today.');
      const counters: Record<string, number | undefined> = {
        ...{ 'token:right ': 10, 'token:wrong ': 7, 'token:member group:g1': 8, 'group:g1 ': 9, 'group:g2 ': 10 },
      };
      const usedTokensBefore = counters[`${key} ${groupKey}`];
      return { usedTokensAfter: 10, ...(usedTokensBefore !== undefined && { usedTokensBefore }) };
    },
  });
  const tokens = [
    { tokenId: 'right' },
    { tokenId: 'wrong' },
    { tokenId: 'forgotten' },
    { tokenId: 'member', groupId: 'g1' },
    { tokenId: 'unlimited', kind: TokenKind.PERSONAL, groupId: 'g2' },
  ];

  it('compares a day with its events, and the counters of limited tokens with the ledger, and is written down', async () => {
    const world = await setUp({ tokens, others: { usageLedger, limiterOperator } });
    const request = create(ReconcileDayRequestSchema, { localDay: '2026-11-20', repair: true });
    expect(await world.service.reconcileDay(request, world.context)).toMatchObject({
      ledger: { differenceCount: 2, repaired: true },
      counters: [
        { tokenId: 'member', counterTokens: 8, ledgerTokens: 10 },
        { tokenId: 'wrong', counterTokens: 7, ledgerTokens: 10 },
        { groupId: 'g1', counterTokens: 9, ledgerTokens: 10 },
      ],
    });
    expect(await world.audited()).toEqual([
      {
        actor: 'ann',
        action: 'usage.reconcile',
        subject: '2026-11-20',
        outcome: 'done',
        after: { repair: true, differences: 2, repaired: true, counters: 3 },
      },
    ]);
  });

  it('has no counters of days that the limiter no longer counts', async () => {
    const world = await setUp({ tokens, others: { usageLedger, limiterOperator } });
    for (const localDay of ['2026-11-19', '2026-11-18']) {
      const request = create(ReconcileDayRequestSchema, { localDay });
      expect(await world.service.reconcileDay(request, world.context)).toMatchObject({ counters: [] });
    }
    const request = create(ReconcileDayRequestSchema, { localDay: 'today' });
    await expect(world.service.reconcileDay(request, world.context)).rejects.toThrow(/localDay/);
  });

  it('replays dead letters, which is written down unless nothing was changed', async () => {
    const world = await setUp({ others: { usageLedger } });
    const replay = (dryRun: boolean) =>
      world.service.replayDeadLetters(
        create(ReplayDeadLettersRequestSchema, { dryRun, pageToken: 'p' }),
        world.context,
      );
    expect(await replay(true)).toMatchObject({ replay: { replayed: 3, nextPageToken: 'p+' } });
    expect(await world.audited()).toEqual([]);
    expect(await replay(false)).toMatchObject({ replay: { replayed: 3 } });
    expect(await world.audited()).toMatchObject([{ action: 'usage.replay_dead_letters', after: { replayed: 3 } }]);
  });
});
