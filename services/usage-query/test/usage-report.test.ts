import type { MessageInitShape } from '@bufbuild/protobuf';
import type { GatewayDatabase, UsageDailyTable } from '@gateway/database';
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
      { localDay: '2026-11-01', totals: { requests: 2n, inputTokens: 10n, cachedTokens: 4n, outputTokens: 5n } },
      { localDay: '2026-11-30', totals: { requests: 4n, inputTokens: 1_010n, cachedTokens: 8n, outputTokens: 10n } },
    ]);
    expect((await report(UsageGrouping.TOKEN)).rows).toMatchObject([
      { tokenId: 'a', totals: { requests: 2n } },
      { tokenId: 'b', totals: { requests: 4n } },
    ]);
    expect((await report(UsageGrouping.MODEL)).rows).toMatchObject([
      { provider: 'provider_a', model: 'gpt-5.5', totals: { requests: 4n } },
      { provider: 'provider_a', model: 'large', totals: { requests: 2n } },
    ]);
  });

  it('can be of one token', async () => {
    await using opened = await open();
    await addDays(opened.database, [{ local_day: '2026-11-02' }, { local_day: '2026-11-03', token_id: 'b' }]);
    const { rows } = await rowsOf(opened.database, { ...november, tokenId: 'b', grouping: UsageGrouping.DAY });
    expect(rows.map(({ localDay }) => localDay)).toEqual(['2026-11-03']);
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
    expect(byModel.rows).toMatchObject([{ model: 'gpt-5.5', totals: { requests: 4_200n } }]);
  });

  it('is refused for days that are none, in the wrong order, or too many', async () => {
    await using opened = await open();
    const refused = { code: 'invalid_request' };
    const report = (firstDay: string, lastDay: string) => rowsOf(opened.database, { firstDay, lastDay });
    await expect(report('', '2026-11-30')).rejects.toMatchObject(refused);
    await expect(report('2026-11-01', '2026-11-31')).rejects.toMatchObject(refused);
    await expect(report('2026-11-02', '2026-11-01')).rejects.toMatchObject(refused);
    await expect(report('1926-11-02', '2026-11-01')).rejects.toMatchObject(refused);
  });
});

async function rowsOf(database: GatewayDatabase, request: MessageInitShape<typeof ReportUsageRequestSchema>) {
  const runtime = { logger: createLogger('test', 'silent'), metrics: new Metrics() };
  const service = createUsageQueryService({ waitMs: 0 }, { database }, runtime);
  const client = directClientOf(service.routes, UsageReportService);
  const rows: UsageReportRow[] = [];
  for (let pageToken = '', pages = 1; ; pages++) {
    const page = await client.reportUsage({ ...request, pageToken });
    rows.push(...page.rows);
    if (page.nextPageToken === '') return { rows, pages };
    pageToken = page.nextPageToken;
  }
}

/** Two requests of 10 input and 5 output tokens each, unless said otherwise. */
async function addDays(
  database: GatewayDatabase,
  days: readonly (Partial<UsageDailyTable> & { readonly local_day: string })[],
): Promise<void> {
  await database
    .insertInto('usage_daily')
    .values(
      days.map((day) => ({
        token_id: 'a',
        provider: 'provider_a',
        model: 'gpt-5.5',
        requests: 2,
        input_tokens: 10,
        cached_tokens: 4,
        output_tokens: 5,
        ...day,
      })),
    )
    .execute();
}
