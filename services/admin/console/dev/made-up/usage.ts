import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect';
import { type UsageRow, UsageRowSchema, type UsageService } from '@gateway/proto/admin/v1/usage_service_pb.js';
import { TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { QuotaOutlook } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { UsageGrouping } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { addDays, daysOf } from '../../src/pages/usage/usage-period.ts';
import { localDayOf } from '../../src/ui/time.tsx';
import { groupListings } from './groups.ts';
import { tokens } from './tokens.ts';

const models = ['gpt-5.5', 'gpt-5.5-mini', 'claude-sonnet-5', 'claude-opus-4-8', 'claude-haiku-4-5'];

function totals(seed: number, share = 1) {
  const of = (most: number, step: number) => Math.round((1.2 + Math.sin(seed * step)) * most * share);
  const inputTokens = of(4_000_000, 0.7);
  return {
    requests: of(2_400, 0.9),
    inputTokens,
    cachedTokens: (inputTokens * 3) / 5,
    cacheWrite5mTokens: inputTokens / 10,
    cacheWrite1hTokens: inputTokens / 50,
    outputTokens: of(600_000, 1.1),
  };
}

function row(usage: object, seed: number, { compare, share = 1 }: { compare: boolean; share?: number }): UsageRow {
  const now = totals(seed, share);
  const before = totals(seed + 7, share * 0.8);
  const costOf = (micros: number) => ({
    micros,
    unpricedTokens: seed % 5 === 0 ? 12_000 : 0,
    unpricedCalls: seed % 7 === 0 ? 3 : 0,
    computedAfterwardsMicros: seed % 7 === 0 ? micros / 4 : 0,
  });
  return create(UsageRowSchema, {
    usage: { ...usage, totals: now },
    cost: costOf(now.inputTokens + now.outputTokens * 8),
    ...(compare && { before, costBefore: costOf(before.inputTokens + before.outputTokens * 8) }),
  });
}

export const usageService: Partial<ServiceImpl<typeof UsageService>> = {
  reportUsage({ firstDay, lastDay, grouping, compare, tokenId, model, pageToken }) {
    if (firstDay > lastDay) throw new ConnectError('The first day is after the last.', Code.InvalidArgument);
    const currency = 'EUR';
    const share = (tokenId === '' ? 1 : 0.1) * (model === '' ? 1 : 0.3);
    if (grouping === UsageGrouping.TOKEN) {
      const rows = tokens.map((token, index) => ({
        ...row({ tokenId: token.tokenId }, index, { compare, share: 4 / (index + 2) }),
        tokenLabel: token.label,
      }));
      const from = Number(pageToken || 0);
      return {
        rows: rows.slice(from, from + 40),
        currency,
        nextPageToken: from + 40 < rows.length ? String(from + 40) : '',
      };
    }
    const rows: readonly UsageRow[] = {
      [UsageGrouping.MODEL]: () =>
        models.map((name, index) =>
          row({ provider: index < 2 ? 'provider_a' : 'provider_b', model: name }, index + 3, {
            compare,
            share: 3 / (index + 1),
          }),
        ),
      [UsageGrouping.ACCOUNT]: () =>
        ['responses/team-a', 'responses/team-c', 'messages/seat-01', ''].map((accountId, index) =>
          row({ accountId }, index + 3, { compare, share: 2 / (index + 1) }),
        ),
      [UsageGrouping.GROUP]: () =>
        ['research', 'support', ''].map((groupId, index) =>
          Object.assign(row({ groupId }, index + 3, { compare, share: 2 / (index + 1) }), { groupName: groupId }),
        ),
      [UsageGrouping.DAY]: () =>
        daysOf({ firstDay, lastDay })
          .filter((day) => day <= localDayOf(Date.now()) && day.slice(8) !== '08')
          .map((localDay) => row({ localDay }, Number(localDay.slice(8)), { compare, share })),
    }[grouping as UsageGrouping.DAY]();
    return { rows: [...rows], currency };
  },
  getMyUsage() {
    const today = localDayOf(Date.now());
    const days: MessageInitShape<typeof UsageRowSchema>[] = daysOf({
      firstDay: addDays(today, -29),
      lastDay: today,
    }).map((localDay) => row({ localDay }, Number(localDay.slice(8)), { compare: false, share: 0.1 }));
    const since = Date.parse(`${today}T00:00:00+01:00`);
    const period = (share: number) => ({
      since,
      totals: totals(3, share),
      byModel: models
        .slice(0, 3)
        .map((model, index) => ({ provider: 'provider_a', model, totals: totals(3, share / (index + 2)) })),
    });
    return {
      token: {
        tokenId: '7d0c2f44-5b1e-4a53-9c3e-0f5c7a2b9e11',
        kind: TokenKind.SERVICE,
        label: 'ci',
        limits: { requestsPerMinute: 60, tokensPerDay: 2_000_000 },
      },
      limits: {
        requests: { limit: 60, remaining: 0, nextSlotAtMs: Date.now() + 9_000 },
        tokens: {
          limit: 2_000_000,
          remaining: 310_000,
          resetsAtMs: Date.parse(`${addDays(today, 1)}T00:00:00+01:00`),
        },
      },
      today: period(0.1),
      lastSevenDays: period(0.6),
      days,
      currency: 'EUR',
      groupName: 'Platform',
      groupLimits: groupListings()[0]?.limits,
      forecasts: [
        {
          pool: 'responses',
          outlook: QuotaOutlook.ENDS,
          window: '5h',
          endsAtMs: Date.now() + 4_800_000,
        },
        { pool: 'messages', outlook: QuotaOutlook.LASTS },
      ],
    };
  },
};
