import type { MessageInitShape } from '@bufbuild/protobuf';
import { type GatewayDatabase, type SummedColumn, summedColumns, type UsageDailyTable } from '@gateway/database';
import { testDatabases } from '@gateway/database/testing';
import {
  type ReportUsageRequestSchema,
  UsageGrouping,
  type UsageReportRow,
  UsageReportService,
} from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { directClientOf } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { addLocalDays } from '@gateway/time';
import type { Insertable } from 'kysely';
import { describe, expect, it } from 'vitest';
import { createUsageQueryService } from '../src/service.ts';

const november = { firstDay: '2026-11-01', lastDay: '2026-11-30' };

describe.each(testDatabases)('a report in $name', ({ open }) => {
  it('sums up days, tokens or models of a period', async () => {
    await using opened = await open();
    await addDays(opened.database, [
      { local_day: '2026-10-31' },
      { local_day: '2026-11-01' },
      { local_day: '2026-11-30', token_id: 'b', model: 'large', input_tokens: 1_000 },
      { local_day: '2026-11-30', token_id: 'b' },
      { local_day: '2026-12-01' },
    ]);
    const report = (grouping: UsageGrouping) => rowsOf(opened.database, { ...november, grouping });
    expect((await report(UsageGrouping.UNSPECIFIED)).rows).toMatchObject([
      { localDay: '2026-11-01', totals: { requests: 2, inputTokens: 10, cachedTokens: 4, outputTokens: 5 } },
      { localDay: '2026-11-30', totals: { requests: 4, inputTokens: 1_010, cachedTokens: 8, outputTokens: 10 } },
    ]);
    expect((await report(UsageGrouping.TOKEN)).rows).toMatchObject([
      { tokenId: 'a', totals: { requests: 2 } },
      { tokenId: 'b', totals: { requests: 4 } },
    ]);
    expect((await report(UsageGrouping.MODEL)).rows).toMatchObject([
      { provider: 'provider_a', model: 'gpt-5.5', totals: { requests: 4 } },
      { provider: 'provider_a', model: 'large', totals: { requests: 2 } },
    ]);
  });

  it('can be of one token', async () => {
    await using opened = await open();
    await addDays(opened.database, [{ local_day: '2026-11-02' }, { local_day: '2026-11-03', token_id: 'b' }]);
    const { rows } = await rowsOf(opened.database, { ...november, tokenId: 'b', grouping: UsageGrouping.DAY });
    expect(rows.map(({ localDay }) => localDay)).toEqual(['2026-11-03']);
  });

  it('can be of several tokens, and not of too many', async () => {
    await using opened = await open();
    await addDays(opened.database, [
      { local_day: '2026-11-02' },
      { local_day: '2026-11-03', token_id: 'b' },
      { local_day: '2026-11-04', token_id: 'c' },
    ]);
    const by = (tokenIds: string[]) =>
      rowsOf(opened.database, { ...november, tokenIds, grouping: UsageGrouping.TOKEN });
    expect((await by(['b', 'c', 'd'])).rows.map(({ tokenId }) => tokenId)).toEqual(['b', 'c']);
    await expect(by(Array.from({ length: 1_001 }, String))).rejects.toThrow('token_ids must be at most 1000');
  });

  it('comes in pages that leave nothing out and repeat nothing', async () => {
    await using opened = await open();
    const days = Array.from({ length: 100 }, (_, index) => addLocalDays('2026-01-01', index));
    await addDays(
      opened.database,
      days.map((local_day) => ({ local_day })),
    );
    const tokens = Array.from({ length: 2_000 }, (_, index) => `t${String(index).padStart(4, '0')}`);
    await addDays(
      opened.database,
      tokens.map((token_id) => ({ local_day: '2026-06-01', token_id })),
    );
    const year = { firstDay: '2026-01-01', lastDay: '2026-12-31' };
    const byDay = await rowsOf(opened.database, { ...year, grouping: UsageGrouping.DAY });
    expect(byDay.pages).toBeGreaterThan(3);
    expect(byDay.rows.map(({ localDay }) => localDay)).toEqual([...days, '2026-06-01']);
    const byToken = await rowsOf(opened.database, { ...year, grouping: UsageGrouping.TOKEN });
    expect(byToken.pages).toBeGreaterThan(2);
    expect(byToken.rows.map(({ tokenId }) => tokenId)).toEqual(['a', ...tokens]);
    const byModel = await rowsOf(opened.database, { ...year, grouping: UsageGrouping.MODEL });
    expect(byModel.rows).toMatchObject([{ model: 'gpt-5.5', totals: { requests: 4_200 } }]);
  });

  it('sums up accounts, all that is known of each row, and models within any of them', async () => {
    await using opened = await open();
    const [first, last] = ['2026-11-01', '2026-11-30'];
    await addDays(opened.database, [
      { local_day: first, requests: 1, input_tokens: 0, cached_tokens: 0, output_tokens: 3 },
      { local_day: first, account_id: 'pool/a', requests: 1, input_tokens: 10, cached_tokens: 4, output_tokens: 2 },
      { local_day: first, model: 'large', account_id: 'pool/a' },
      { local_day: last, token_id: 'b', account_id: 'pool/b' },
    ]);
    const report = async (more: MessageInitShape<typeof ReportUsageRequestSchema>) =>
      (await rowsOf(opened.database, { ...november, ...more })).rows;
    const byAccount = { grouping: UsageGrouping.ACCOUNT };
    expect(await report(byAccount)).toMatchObject([
      // Usage that an older release added, or that no account answered.
      { accountId: '', totals: { requests: 1, inputTokens: 0, cachedTokens: 0, outputTokens: 3 } },
      { accountId: 'pool/a', totals: { requests: 3, inputTokens: 20 } },
      { accountId: 'pool/b', totals: { requests: 2 } },
    ]);
    expect(await report({ ...byAccount, byModel: true })).toMatchObject([
      { accountId: '', model: 'gpt-5.5', provider: 'provider_a' },
      { accountId: 'pool/a', model: 'gpt-5.5', totals: { requests: 1 } },
      { accountId: 'pool/a', model: 'large', totals: { requests: 2 } },
      { accountId: 'pool/b', model: 'gpt-5.5' },
    ]);
    expect(await report({ grouping: UsageGrouping.ALL })).toMatchObject([
      { localDay: first, tokenId: 'a', model: 'gpt-5.5', accountId: '' },
      { localDay: first, tokenId: 'a', model: 'gpt-5.5', accountId: 'pool/a' },
      { localDay: first, tokenId: 'a', model: 'large', accountId: 'pool/a' },
      { localDay: last, tokenId: 'b', model: 'gpt-5.5', accountId: 'pool/b' },
    ]);
    const ofAccount = { accountId: 'pool/a', byModel: true };
    expect(await report({ ...ofAccount, grouping: UsageGrouping.TOKEN })).toMatchObject([
      { tokenId: 'a', model: 'gpt-5.5', totals: { outputTokens: 2 } },
      { tokenId: 'a', model: 'large', totals: { outputTokens: 5 } },
    ]);
    expect(await report({ ...ofAccount, model: 'large', grouping: UsageGrouping.DAY })).toMatchObject([
      { localDay: first, model: 'large', totals: { requests: 2 } },
    ]);
  });

  it('adds up to the same whatever it is grouped by, every row once over all pages', async () => {
    await using opened = await open();
    const accounts = ['', 'pool/a', 'pool/b'];
    const days = Array.from({ length: 70 }, (_, index) => addLocalDays('2026-01-01', index * 2));
    const rows = days.flatMap((local_day, day) =>
      Array.from({ length: 40 }, (_, n) => {
        const row = { local_day, token_id: `t${n}`, model: `m${(n + day) % 7}`, group_id: `g${n % 2}` };
        return accounts.slice(n % 3).map((account_id, of) => ({ ...row, account_id, requests: of === 0 ? n + 1 : 0 }));
      }).flat(),
    );
    await addDays(opened.database, rows);
    const year = { firstDay: '2026-01-01', lastDay: '2026-12-31' };
    const expected = { requests: 70 * 820, inputTokens: 56_700, cachedTokens: 22_680, outputTokens: 28_350 };
    for (const grouping of [
      UsageGrouping.DAY,
      UsageGrouping.TOKEN,
      UsageGrouping.MODEL,
      UsageGrouping.ACCOUNT,
      UsageGrouping.ALL,
    ]) {
      for (const byModel of [false, true]) {
        const report = await rowsOf(opened.database, { ...year, grouping, byModel });
        const keys = report.rows.map(({ localDay, tokenId, provider, model, accountId }) =>
          JSON.stringify([localDay, tokenId, provider, model, accountId]),
        );
        expect(new Set(keys).size).toBe(keys.length);
        for (const field of ['requests', 'inputTokens', 'cachedTokens', 'outputTokens'] as const) {
          expect(report.rows.reduce((sum, { totals }) => sum + (totals?.[field] ?? 0), 0)).toBe(expected[field]);
        }
      }
    }
    const single = [UsageGrouping.DAY, UsageGrouping.TOKEN, UsageGrouping.MODEL, UsageGrouping.ACCOUNT];
    for (const [grouping, thenBy] of single.flatMap((one) => single.map((other) => [one, other] as const))) {
      const report = await rowsOf(opened.database, { ...year, grouping, thenBy, byModel: true });
      const parts = report.rows.map((row) => JSON.stringify({ ...row, totals: undefined }));
      expect(new Set(parts).size).toBe(parts.length);
      expect(report.rows.reduce((sum, { totals }) => sum + (totals?.requests ?? 0), 0)).toBe(expected.requests);
    }
    const all = await rowsOf(opened.database, { ...year, grouping: UsageGrouping.ALL });
    expect(all.pages).toBeGreaterThan(5);
  });

  it('sums up groups with their cost, tokens of no group, and tokens of one group', async () => {
    await using opened = await open();
    const { database } = opened;
    const [first, last] = ['2026-11-01', '2026-11-30'];
    const ofGroup = { group_id: 'g1', cost_micros: 70, costed_input_tokens: 6, cache_write_1h_tokens: 3 };
    await addDays(database, [
      { local_day: first, ...ofGroup },
      { local_day: first, token_id: 'b' },
      { local_day: last, token_id: 'b', model: 'large', ...ofGroup },
    ]);
    const report = async (more: MessageInitShape<typeof ReportUsageRequestSchema>) =>
      (await rowsOf(database, { ...november, ...more })).rows;
    const byGroup = { grouping: UsageGrouping.GROUP };
    const costed = { inputTokens: 6, cachedTokens: 0, outputTokens: 0 };
    expect(await report(byGroup)).toMatchObject([
      { groupId: '', totals: { requests: 2, costMicros: 0, costed: { inputTokens: 0 } } },
      {
        groupId: 'g1',
        totals: { requests: 4, costMicros: 140, cacheWrite1hTokens: 6, costed: { inputTokens: 12 } },
      },
    ]);
    expect(await report({ ...byGroup, byModel: true })).toMatchObject([
      { groupId: '', model: 'gpt-5.5', totals: { requests: 2 } },
      { groupId: 'g1', model: 'gpt-5.5', totals: { costMicros: 70, costed } },
      { groupId: 'g1', model: 'large', totals: { costMicros: 70 } },
    ]);
    expect(await report({ groupId: 'g1', grouping: UsageGrouping.TOKEN })).toMatchObject([
      { tokenId: 'a', totals: { requests: 2, costMicros: 70 } },
      { tokenId: 'b', totals: { requests: 2, costMicros: 70 } },
    ]);
    expect(await report({ grouping: UsageGrouping.MODEL, thenBy: UsageGrouping.GROUP })).toMatchObject([
      { model: 'gpt-5.5', groupId: '', totals: { requests: 2 } },
      { model: 'gpt-5.5', groupId: 'g1', totals: { requests: 2 } },
      { model: 'large', groupId: 'g1', totals: { requests: 2 } },
    ]);
    expect(await report({ grouping: UsageGrouping.TOKEN, thenBy: UsageGrouping.DAY, tokenId: 'b' })).toMatchObject([
      { localDay: first, tokenId: 'b', totals: { requests: 2 } },
      { localDay: last, tokenId: 'b', totals: { requests: 2 } },
    ]);
    const unknown: number = 99;
    await expect(report({ grouping: UsageGrouping.DAY, thenBy: unknown })).rejects.toMatchObject({
      code: 'invalid_request',
    });
  });

  it('sums up what each group used of each account', async () => {
    await using opened = await open();
    const local_day = '2026-11-01';
    await addDays(opened.database, [
      { local_day, account_id: 'pool/a', group_id: 'g1' },
      { local_day, account_id: 'pool/a', group_id: 'g1', token_id: 'b', model: 'large' },
      { local_day, account_id: 'pool/a', group_id: 'g2', requests: 1 },
      { local_day, account_id: 'pool/b', group_id: 'g1' },
    ]);
    const report = async (more: MessageInitShape<typeof ReportUsageRequestSchema>) =>
      (await rowsOf(opened.database, { ...november, ...more })).rows;
    const [byAccount, byGroup] = [{ grouping: UsageGrouping.ACCOUNT }, { grouping: UsageGrouping.GROUP }];
    const rows = [
      { accountId: 'pool/a', groupId: 'g1', totals: { requests: 4, inputTokens: 20 } },
      { accountId: 'pool/a', groupId: 'g2', totals: { requests: 1 } },
      { accountId: 'pool/b', groupId: 'g1', totals: { requests: 2 } },
    ];
    expect(await report({ ...byAccount, thenBy: UsageGrouping.GROUP })).toMatchObject(rows);
    expect(await report({ ...byGroup, accountId: 'pool/a' })).toMatchObject([
      { groupId: 'g1', totals: { requests: 4 } },
      { groupId: 'g2', totals: { requests: 1 } },
    ]);
    expect(await report({ ...byAccount, groupId: 'g2' })).toMatchObject([
      { accountId: 'pool/a', totals: { requests: 1 } },
    ]);
    expect(await report({ grouping: UsageGrouping.ALL, groupId: 'g1' })).toMatchObject([
      { localDay: local_day, tokenId: 'a', model: 'gpt-5.5', accountId: 'pool/a' },
      { localDay: local_day, tokenId: 'a', model: 'gpt-5.5', accountId: 'pool/b' },
      { localDay: local_day, tokenId: 'b', model: 'large', accountId: 'pool/a' },
    ]);
  });

  it('has all models of a row in one page', async () => {
    await using opened = await open();
    const rows = Array.from({ length: 400 }, (_, token) =>
      Array.from({ length: 7 }, (_, model) => ({ local_day: '2026-11-02', token_id: `t${token}`, model: `m${model}` })),
    ).flat();
    await addDays(opened.database, [...rows, ...rows.map((row) => ({ ...row, local_day: '2026-11-03' }))]);
    for (const [grouping, lines] of [
      [UsageGrouping.TOKEN, 400],
      [UsageGrouping.DAY, 2],
    ] as const) {
      const request = { ...november, grouping, byModel: true };
      const keys: string[] = [];
      for (let pageToken: string | undefined = ''; pageToken !== undefined; ) {
        const answer = await page(opened.database, { ...request, pageToken });
        keys.push(...new Set(answer.rows.map(({ tokenId, localDay }) => tokenId || localDay)));
        pageToken = answer.nextPageToken || undefined;
      }
      expect(keys).toHaveLength(lines);
    }
    const many = Array.from({ length: 1_500 }, (_, model) => ({
      local_day: '2026-12-01',
      token_id: 'a',
      model: `x${model}`,
    }));
    await addDays(opened.database, many);
    const december = { firstDay: '2026-12-01', lastDay: '2026-12-01', grouping: UsageGrouping.TOKEN, byModel: true };
    expect((await page(opened.database, december)).rows).toHaveLength(1_500);
  });

  it('is refused for days that are none, in the wrong order, or too many', async () => {
    await using opened = await open();
    const refused = { code: 'invalid_request' };
    const report = (firstDay: string, lastDay: string) => rowsOf(opened.database, { firstDay, lastDay });
    await expect(report('', '2026-11-30')).rejects.toMatchObject(refused);
    await expect(report('2026-11-01', '2026-11-31')).rejects.toMatchObject(refused);
    await expect(report('2026-11-02', '2026-11-01')).rejects.toMatchObject(refused);
    await expect(report('1926-11-02', '2026-11-01')).rejects.toMatchObject(refused);
    for (const pageToken of ['further', '%', 'a/b/c']) {
      await expect(page(opened.database, { ...november, pageToken })).rejects.toMatchObject(refused);
    }
    const byTokenAndModel = { ...november, grouping: UsageGrouping.TOKEN, byModel: true };
    const ofTokens = page(opened.database, { ...byTokenAndModel, pageToken: 'token' });
    await expect(ofTokens).rejects.toMatchObject({ ...refused, message: expect.stringContaining('page_token') });
  });
});

async function rowsOf(database: GatewayDatabase, request: MessageInitShape<typeof ReportUsageRequestSchema>) {
  const rows: UsageReportRow[] = [];
  for (let pageToken = '', pages = 1; ; pages++) {
    const { rows: found, nextPageToken } = await page(database, { ...request, pageToken });
    rows.push(...found);
    if (nextPageToken === '') return { rows, pages };
    pageToken = nextPageToken;
  }
}

function page(database: GatewayDatabase, request: MessageInitShape<typeof ReportUsageRequestSchema>) {
  const runtime = { logger: createLogger('test', 'silent'), metrics: new Metrics() };
  const service = createUsageQueryService({ waitMs: 0 }, { database }, runtime);
  return directClientOf(service.routes, UsageReportService).reportUsage(request);
}

interface DayFields extends Partial<Insertable<UsageDailyTable>> {
  readonly local_day: string;
}

const usualDay = {
  ...(Object.fromEntries(summedColumns.map((column) => [column, 0])) as Record<SummedColumn, number>),
  token_id: 'a',
  provider: 'provider_a',
  model: 'gpt-5.5',
  account_id: '',
  group_id: '',
  requests: 2,
  input_tokens: 10,
  cached_tokens: 4,
  output_tokens: 5,
};

/** Two requests of 10 input and 5 output tokens each by default. */
async function addDays(database: GatewayDatabase, days: readonly DayFields[]): Promise<void> {
  for (let start = 0; start < days.length; start += 1_000) {
    const rows = days.slice(start, start + 1_000).map((day) => ({ ...usualDay, ...day }));
    await database.insertInto('usage_daily').values(rows).execute();
  }
}
