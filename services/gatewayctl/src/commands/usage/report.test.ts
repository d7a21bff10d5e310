import type { MessageInitShape } from '@bufbuild/protobuf';
import { TokenService } from '@gateway/proto/admin/v1/token_service_pb.js';
import {
  type ReportUsageRequest,
  type ReportUsageResponseSchema,
  UsageService,
} from '@gateway/proto/admin/v1/usage_service_pb.js';
import { UsageGrouping } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { describe, expect, it } from 'vitest';
import { CommandLine } from '../../__fixtures__/command-line.ts';

const totals = (requests: number) => ({
  requests,
  inputTokens: requests * 10,
  cachedTokens: requests * 4,
  outputTokens: requests * 5,
});
const november = ['--from', '2026-11-01', '--to', '2026-11-30'];

function commandLine(...pages: readonly MessageInitShape<typeof ReportUsageResponseSchema>[]) {
  const asked: ReportUsageRequest[] = [];
  const line = new CommandLine((router) => {
    router.service(UsageService, {
      reportUsage: (request) => {
        asked.push(request);
        const page = Number(request.pageToken || 0);
        return { ...pages[page], nextPageToken: page + 1 < pages.length ? String(page + 1) : '' };
      },
    });
    router.service(TokenService, { getToken: () => ({ token: { token: { tokenId: 'id-of-ci' } } }) });
  });
  return { line, asked };
}

describe('gatewayctl usage report', () => {
  it('prints a table with a total', async () => {
    const rows = [
      { usage: { localDay: '2026-11-02', totals: totals(2) } },
      { usage: { localDay: '2026-11-03', totals: totals(1) } },
    ];
    const { lines } = await commandLine({ rows }).line.run('usage', 'report', ...november);
    expect(lines.map((line) => line.split(/\s+/))).toEqual([
      ['day', 'requests', 'input', 'cached', 'output', 'tokens'],
      ['2026-11-02', '2', '20', '8', '10', '30'],
      ['2026-11-03', '1', '10', '4', '5', '15'],
      ['total', '3', '30', '12', '15', '45'],
    ]);
  });

  it('has costs if there are prices, and lists models without one', async () => {
    const rows = [
      { usage: { model: 'm', provider: 'a', totals: totals(1) }, cost: { micros: 1_500_000 } },
      { usage: { model: 'n', provider: 'a', totals: totals(1) }, cost: { unpricedTokens: 15, unpricedCalls: 2 } },
    ];
    const { lines } = await commandLine({ rows, currency: 'EUR' }).line.run('usage', 'report', '--by', 'model');
    expect(lines[0]).toMatch(/^provider +model .* cost$/);
    expect(lines[1]).toMatch(/1\.50 EUR$/);
    expect(lines[2]).toMatch(/ 15 tokens and 2 tool calls without a price$/);
    expect(lines[2]).not.toContain('0.00');
    expect(lines[3]).toMatch(/^total .* 1\.50 EUR \+ 15 tokens and 2 tool calls without a price$/);
  });

  it('says how much of a cost was computed afterwards, and groups by group', async () => {
    const rows = [
      {
        usage: { groupId: 'g1', totals: totals(1) },
        groupName: 'research',
        cost: { micros: 1_500_000, computedAfterwardsMicros: 500_000 },
      },
      { usage: { groupId: '', totals: totals(1) }, cost: { micros: 1_000_000 } },
    ];
    const { line, asked } = commandLine({ rows, currency: 'EUR' });
    const { lines } = await line.run('usage', 'report', '--by', 'group', '--group', 'g1');
    expect(lines[1]).toMatch(/^research .* 1\.50 EUR \(0\.50 EUR computed afterwards\)$/);
    expect(lines[2]).toMatch(/^\(none\) .* 1\.00 EUR$/);
    expect(lines[3]).toMatch(/^total .* 2\.50 EUR \(0\.50 EUR computed afterwards\)$/);
    expect(asked).toMatchObject([{ grouping: UsageGrouping.GROUP, groupId: 'g1' }]);
  });

  it('groups by two, with the total in the first column alone', async () => {
    const rows = [
      { usage: { tokenId: 'id-a', accountId: 'pool/a', totals: totals(2) }, tokenLabel: 'ci' },
      { usage: { tokenId: 'id-a', totals: totals(1) }, tokenLabel: 'ci' },
    ];
    const { line, asked } = commandLine({ rows });
    const { lines } = await line.run('usage', 'report', '--by', 'token,account', ...november);
    expect(lines.map((text) => text.split(/\s+/))).toEqual([
      ['token', 'id', 'account', 'requests', 'input', 'cached', 'output', 'tokens'],
      ['ci', 'id-a', 'pool/a', '2', '20', '8', '10', '30'],
      ['ci', 'id-a', '(unknown)', '1', '10', '4', '5', '15'],
      ['total', '3', '30', '12', '15', '45'],
    ]);
    await line.run('usage', 'report', '--by', 'account,group', '--account', 'pool/a', '--group', 'g1');
    expect(asked).toMatchObject([
      { grouping: UsageGrouping.TOKEN, thenBy: UsageGrouping.ACCOUNT },
      { grouping: UsageGrouping.ACCOUNT, thenBy: UsageGrouping.GROUP, accountId: 'pool/a', groupId: 'g1' },
    ]);
  });

  it.each(['week', 'token,week', 'token,token', 'day,token,model', ''])(
    'says which groupings are possible, instead of %s',
    async (by) => {
      const { line, asked } = commandLine({ rows: [] });
      const { exitCode, notes } = await line.run('usage', 'report', `--by=${by}`);
      expect(exitCode).toBe(2);
      expect(notes).toContain('day, token, model, account, group, or two of them, such as token,model');
      expect(asked).toEqual([]);
    },
  );

  it('compares with the days before', async () => {
    const rows = [
      { usage: { accountId: 'p/a', totals: totals(3) }, before: totals(2) },
      { usage: { accountId: 'p/b', totals: totals(1) } },
    ];
    const { line, asked } = commandLine({ rows });
    const { lines } = await line.run('usage', 'report', '--by', 'account', '--compare', '--since', '7d');
    expect(lines[1]).toMatch(/^p\/a .* 45 +30 +\+50 %$/);
    expect(lines[2]).toMatch(/^p\/b .* 15 +0 +new$/);
    expect(lines[3]).toMatch(/^total .* 60 +30 +\+100 %$/);
    expect(asked).toMatchObject([{ compare: true, grouping: UsageGrouping.ACCOUNT }]);
  });

  it('prints nothing but rows for programs, with numbers as numbers', async () => {
    const rows = [{ usage: { tokenId: 'b', totals: totals(1) }, tokenLabel: 'ci' }];
    const { line, asked } = commandLine({ rows });
    const { json, notes } = await line.run('usage', 'report', '--by', 'token', '--token', 'ci', '-o', 'json');
    expect(json()).toMatchObject([
      { tokenLabel: 'ci', usage: { tokenId: 'b', totals: { requests: 1, inputTokens: 10 } } },
    ]);
    expect(notes).toBe('');
    expect(asked).toMatchObject([{ tokenId: 'id-of-ci' }]);
  });

  it('prints many rows page by page, each once', async () => {
    const page = (first: number) => ({
      rows: Array.from({ length: 1_000 }, (_, index) => ({ usage: { tokenId: `t${first + index}` } })),
    });
    const { line } = commandLine(page(0), page(1_000), page(2_000));
    const rows: { usage: { tokenId: string } }[] = (
      await line.run('usage', 'report', '--by', 'token', '-o', 'json')
    ).json();
    expect(new Set(rows.map(({ usage }) => usage.tokenId)).size).toBe(3_000);
  });

  it('refuses days the wrong way round, and says when nothing was used', async () => {
    const { line, asked } = commandLine({});
    const backwards = await line.run('usage', 'report', '--from', '2026-11-02', '--to', '2026-11-01');
    expect(backwards).toMatchObject({ exitCode: 2, notes: 'gatewayctl: --to is before --from.' });
    expect(asked).toEqual([]);
    expect((await line.run('usage', 'report', ...november)).notes).toBe('No usage from 2026-11-01 to 2026-11-30.');
  });
});
