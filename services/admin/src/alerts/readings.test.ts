import { GroupService, IdentityService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { BudgetPeriod } from '@gateway/proto/limiter/v2/limit_pb.js';
import { LimiterService } from '@gateway/proto/limiter/v2/limiter_service_pb.js';
import { PoolOperatorService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { UsageReportService } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { describe, expect, it } from 'vitest';
import { peer, startMs } from '../__fixtures__/rpc-world.ts';
import type { AdminPeers } from '../parts.ts';
import { readGroupUses, readTokenUses } from './readings.ts';

const { signal } = new AbortController();
const today = '2026-11-23';

describe('what tokens used', () => {
  it('comes from one report for all of them, page by page', async () => {
    const asked: unknown[] = [];
    const token = (tokenId: string, tokensPerDay?: number) => ({
      ...{ tokenId, label: `label of ${tokenId}` },
      limits: tokensPerDay === undefined ? {} : { tokensPerDay },
    });
    const peers: Partial<AdminPeers> = {
      identity: peer(IdentityService, {
        list: ({ pageToken }) =>
          pageToken === ''
            ? { tokens: [token('a', 10), token('free')], nextPageToken: '2' }
            : { tokens: [token('unused', 5)] },
      }),
      usageReport: peer(UsageReportService, {
        reportUsage: ({ firstDay, lastDay, pageToken }) => {
          asked.push([firstDay, lastDay, pageToken]);
          const totals = { inputTokens: 4, cachedTokens: 3, outputTokens: 5 };
          return pageToken === '' ? { nextPageToken: '2' } : { rows: [{ tokenId: 'a', totals }] };
        },
      }),
    };
    expect(await readTokenUses(peers as AdminPeers, startMs, signal)).toMatchObject([
      { kind: 'tokens_per_day', subject: 'a', name: 'label of a', used: 9, limit: 10, span: 'day', firstDay: today },
      { subject: 'unused', used: 0, limit: 5 },
    ]);
    expect(asked).toEqual([
      [today, today, ''],
      [today, today, '2'],
    ]);
  });

  it('is not asked for if no token has a limit', async () => {
    const peers = { identity: peer(IdentityService, { list: () => ({ tokens: [{ tokenId: 'free' }] }) }) };
    expect(await readTokenUses(peers as unknown as AdminPeers, startMs, signal)).toEqual([]);
  });
});

describe('what groups used', () => {
  it('is what the limiter counts, of tokens per day and of budgets in their periods', async () => {
    const budget = (period: BudgetPeriod) => ({ budget: { amountMicros: 100, period } });
    const group = (groupId: string, limits?: object) => ({
      groupId,
      name: groupId.toUpperCase(),
      ...(limits && { limits }),
    });
    const groups = [
      group('a', { tokensPerDay: 10, ...budget(BudgetPeriod.MONTH) }),
      group('b', budget(BudgetPeriod.WEEK)),
      group('slow', { requestsPerMinute: 5 }),
      group('free'),
    ];
    const peeked: string[] = [];
    const peers: Partial<AdminPeers> = {
      groups: peer(GroupService, { listGroups: () => ({ groups }) }),
      poolOperator: peer(PoolOperatorService, { getGatewayFile: () => ({ file: { currency: 'EUR' } }) }),
      limiter: peer(LimiterService, {
        peek: ({ key, limits }) => {
          peeked.push(key);
          const resetsAtMs = startMs;
          return {
            status: {
              localDay: today,
              ...(limits?.tokensPerDay !== undefined && { tokens: { limit: 10, remaining: 2, resetsAtMs } }),
              ...(limits?.budget && {
                budget: { amountMicros: 100, spentMicros: 150, reservedMicros: 7, firstDay: '2026-11-01' },
              }),
            },
          };
        },
      }),
    };
    const month = { kind: 'budget', used: 150, limit: 100, currency: 'EUR', span: 'month', firstDay: '2026-11-01' };
    const uses = await readGroupUses(peers as AdminPeers, signal);
    expect(uses.toSorted((one, other) => (one.subject + one.kind < other.subject + other.kind ? -1 : 1))).toEqual([
      { ...month, subject: 'a', name: 'A' },
      {
        ...{ kind: 'group_tokens_per_day', subject: 'a', name: 'A', used: 8, limit: 10, currency: '' },
        ...{ span: 'day', firstDay: today },
      },
      { ...month, subject: 'b', name: 'B', span: 'week' },
    ]);
    expect(peeked.toSorted()).toEqual(['group:a', 'group:b']);
  });
});
