import { once } from 'node:events';
import { createServer, get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { RequestEnding, type RequestRecordedSchema } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import {
  type ListRequestsRequest,
  RequestFilter,
  UsageGrouping,
} from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { createLogger } from '@gateway/telemetry';
import express from 'express';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type FakeServices, fakePeers } from '../usage/__fixtures__/fake-peers.ts';
import { exportRoutes } from './export-routes.ts';

const days = 'first_day=2026-11-01&last_day=2026-11-20';
const receivedAtMs = Date.parse('2026-11-20T10:00:00Z');

async function serve(services: FakeServices) {
  const app = express();
  const { peers } = fakePeers({ tokens: [{ tokenId: 't', label: 'ci, "nightly"' }], ...services });
  app.use(exportRoutes({ peers, logger: createLogger('test', 'silent') }));
  const server = createServer(app);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const open = async (path: string): Promise<IncomingMessage> => {
    const [response] = await once(get({ port, path, agent: false }), 'response');
    return response;
  };
  return { open, read: async (path: string) => text(await open(path)) };
}

/** This many pages of requests, and the searches that were asked. */
function requestsOf(pages: number, rows = 1_000, fields: MessageInitShape<typeof RequestRecordedSchema> = {}) {
  const asked: ListRequestsRequest[] = [];
  const report: FakeServices['report'] = {
    listRequests: (request) => {
      asked.push(request);
      const page = Number(request.pageToken);
      const requests = Array.from({ length: rows }, (_, n) => ({ requestId: `${page}-${n}`, tokenId: 't', ...fields }));
      return { requests, nextPageToken: page + 1 < pages ? String(page + 1) : '' };
    },
  };
  return { report, asked };
}

describe('an export of usage', () => {
  const report: FakeServices['report'] = {
    reportUsage: ({ grouping, pageToken, byModel, tokenId }) => {
      const writes = { cacheWrite5mTokens: 4, cacheWrite1hTokens: 1 };
      const totals = {
        requests: 1,
        inputTokens: 9_007_199_254_740_988,
        cachedTokens: 2,
        outputTokens: 3,
        ...writes,
      };
      const model = { provider: '=cmd', model: 'gpt\r\n"5"' };
      if (grouping !== UsageGrouping.ALL) return { rows: [{ ...model, localDay: tokenId || 'any', totals }] };
      const row = { localDay: '2026-11-02', tokenId: 't', accountId: 'pool/a', ...model, totals };
      return { rows: [row], nextPageToken: byModel && pageToken === '' ? 'second' : '' };
    },
  };
  const prices = [{ model: '*', inputMicros: 0, cachedInputMicros: 0, outputMicros: 500_001 }];

  it('is CSV with all pages, quoted as it must be and harmless in a spreadsheet', async () => {
    const { open } = await serve({ report, file: { currency: 'EUR', prices } });
    const response = await open(`/export/usage?${days}&grouping=all`);
    expect(response.headers).toMatchObject({
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': 'attachment; filename=usage-2026-11-01-to-2026-11-20.csv',
    });
    const row =
      '"2026-11-02","t","ci, ""nightly""","\'=cmd","gpt  ""5""","pool/a",1,9007199254740988,2,3,9007199254740991,"0.000002","EUR",0,4,1,"0.000002",,,0\r\n';
    expect(await text(response)).toBe(
      `day,token_id,token_label,provider,model,account_id,requests,input_tokens,cached_tokens,output_tokens,total_tokens,cost,currency,unpriced_tokens,cache_write_5m_tokens,cache_write_1h_tokens,cost_computed_afterwards,group_id,group_name,unpriced_calls\r\n${row}${row}`,
    );
  });

  it('has no cost of zero where nothing had a price', async () => {
    const unpriced = { inputTokens: 5, costed: { inputTokens: 5 }, unpricedTokens: 5, unpricedCalls: 2 };
    const rows = [{ provider: 'p', model: 'm', totals: unpriced }];
    const { read } = await serve({ report: { reportUsage: () => ({ rows }) }, file: { currency: 'EUR', prices } });
    const [line = ''] = (await read(`/export/usage?${days}&grouping=model&format=ndjson`)).split('\n');
    expect(JSON.parse(line)).toMatchObject({ cost: '', unpriced_tokens: 5, unpriced_calls: 2 });
  });

  it('is NDJSON with every digit of a count', async () => {
    const { read } = await serve({ report });
    const lines = (await read(`/export/usage?${days}&grouping=model&format=ndjson`)).split('\n');
    expect(lines).toHaveLength(2);
    expect(lines[0]).toContain('"input_tokens":9007199254740988,');
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ provider: '=cmd', model: 'gpt\r\n"5"', cost: '', currency: '' });
  });

  it('has the same columns for every grouping', async () => {
    const { read } = await serve({ report });
    const heads = ['day', 'token', 'model', 'account', 'group', 'all'].map(async (grouping) => {
      return (await read(`/export/usage?${days}&grouping=${grouping}`)).split('\r\n')[0];
    });
    expect(new Set(await Promise.all(heads)).size).toBe(1);
  });

  it('is of the token that a label means', async () => {
    const { read } = await serve({ report });
    expect(await read(`/export/usage?${days}&token=${encodeURIComponent('ci, "nightly"')}`)).toContain(
      '\r\n"t",,,,,,1,',
    );
  });

  it('is refused with the problem of each parameter, before anything is sent', async () => {
    const { open } = await serve({ report });
    const response = await open(
      '/export/usage?first_day=2026-02-30&last_day=2026-11-20&grouping=month&tokenid=t&format=xls',
    );
    expect(response.statusCode).toBe(400);
    const { fields } = JSON.parse(await text(response));
    expect(fields.map(({ field }: { readonly field: string }) => field).toSorted()).toEqual([
      'first_day',
      'format',
      'grouping',
      'tokenid',
    ]);
    expect((await open(`/export/usage?${days}&token=nobody`)).statusCode).toBe(400);
    expect((await open('/export/usage?first_day=2026-11-20&last_day=2026-11-01')).statusCode).toBe(400);
  });
});

describe('an export of charges', () => {
  /** As specified by FOCUS 1.2, with whether the column may be null. */
  const mandatoryColumns: Readonly<Record<string, boolean>> = {
    BilledCost: false,
    BillingAccountId: false,
    BillingAccountName: true,
    BillingCurrency: false,
    BillingPeriodEnd: false,
    BillingPeriodStart: false,
    ChargeCategory: false,
    ChargeClass: true,
    ChargeDescription: true,
    ChargePeriodEnd: false,
    ChargePeriodStart: false,
    ContractedCost: false,
    EffectiveCost: false,
    InvoiceIssuerName: false,
    ListCost: false,
    PricingQuantity: true,
    PricingUnit: true,
    ProviderName: false,
    PublisherName: false,
    ServiceCategory: false,
    ServiceName: false,
  };
  const row = { localDay: '2026-10-25', tokenId: 't', provider: 'provider_a', model: 'gpt-5.5', accountId: 'pool/a' };
  const counts = { requests: 1, inputTokens: 1_000, cachedTokens: 400, cacheWrite1hTokens: 100, outputTokens: 10 };
  const report: FakeServices['report'] = {
    reportUsage: ({ grouping }) => {
      if (grouping !== UsageGrouping.ALL) return {};
      const costed = { ...counts, costMicros: 1_250_000, costed: { inputTokens: 1_000, outputTokens: 10 } };
      const ofNoAccount = { ...row, localDay: '2026-10-26', accountId: '', totals: counts };
      return {
        rows: [{ ...row, totals: costed }, ofNoAccount, { localDay: '2026-10-26', totals: { inputTokens: 1 } }],
      };
    },
  };
  const charges = {
    tokens: [{ tokenId: 't', label: 'ci' }],
    report,
    file: { currency: 'EUR', prices: [{ model: '*', outputMicros: 500_000 }] },
  };

  it('has every mandatory column of FOCUS 1.2, filled where it must be', async () => {
    const { open } = await serve(charges);
    const response = await open(`/export/usage?${days}&format=focus`);
    expect(response.headers).toMatchObject({
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': 'attachment; filename=focus-2026-11-01-to-2026-11-20.csv',
    });
    const [head = '', ...lines] = (await text(response)).trimEnd().split('\r\n');
    const names = head.split(',');
    expect(lines).toHaveLength(2);
    for (const line of lines) {
      const cells = line.split(',');
      expect(cells).toHaveLength(names.length);
      const charge = new Map(names.map((name, place) => [name, cells[place]]));
      for (const [name, isNullable] of Object.entries(mandatoryColumns)) {
        expect(charge.has(name), name).toBe(true);
        if (!isNullable) expect(charge.get(name), name).not.toMatch(/^(""|)$/);
      }
    }
    // Columns of its own have the prefix that the specification reserves for them.
    const known = /^(x_[A-Z]\w+|SubAccount(Id|Name|Type)|ChargeFrequency|ServiceSubcategory)$/;
    expect(names.filter((name) => !(name in mandatoryColumns) && !known.test(name))).toEqual([]);
  });

  it('has the cost, the month and the day of the charge in UTC, on a day of 25 hours too', async () => {
    const { read } = await serve(charges);
    const [head = '', first = ''] = (await read(`/export/usage?${days}&format=focus`)).split('\r\n');
    const cells = first.replaceAll('"', '').split(',');
    const charge = Object.fromEntries(head.split(',').map((name, place) => [name, cells[place]]));
    expect(charge).toMatchObject({
      ...{ BilledCost: '1.250000', ListCost: '1.250000', BillingCurrency: 'EUR', BillingAccountId: 'pool/a' },
      ...{ BillingPeriodStart: '2026-09-30T22:00:00Z', BillingPeriodEnd: '2026-10-31T23:00:00Z' },
      ...{ ChargePeriodStart: '2026-10-24T22:00:00Z', ChargePeriodEnd: '2026-10-25T23:00:00Z' },
      ...{ PricingQuantity: '1010', PricingUnit: 'Tokens', SubAccountId: 't', ServiceName: 'gpt-5.5' },
      ...{ x_CacheWrite1hTokens: '100', x_CostComputedAfterwards: '0.000000' },
    });
  });

  it('is refused without prices, because a charge has a currency', async () => {
    const { open } = await serve({ report });
    const response = await open(`/export/usage?${days}&format=focus`);
    expect(response.statusCode).toBe(400);
    expect(await text(response)).toContain('gateway.yaml has no prices');
  });
});

describe('an export of requests', () => {
  it('has every matching request, complete as NDJSON', async () => {
    const fields = {
      tokenId: 't',
      receivedAtMs,
      endpoint: '/v1/messages',
      model: '@SUM(1)',
      attempts: [
        { accountId: 'pool/a', model: 'gpt-5.5' },
        {
          ...{ accountId: 'pool/b', model: 'gpt-5.5-mini', costMicros: 1_250_000 },
          usage: { inputTokens: 7, cacheWrite5mTokens: 4 },
        },
      ],
      ending: RequestEnding.FAILED,
      status: 503,
      errorCode: 'pool_exhausted',
      times: { firstByte: 1.5, ended: 20 },
      clientRequestId: 'run-17',
    };
    const { report, asked } = requestsOf(2, 1, fields);
    const { read } = await serve({ report });
    const filter = `${days}&token_id=t&filter=failed&status=500&endpoint=/v1/messages&account_id=pool/a&model=m&request_id=run`;
    const [head, first, second, end] = (await read(`/export/requests?${filter}`)).split('\r\n');
    expect(head).toMatch(/^received_at,request_id,client_request_id,token_id,token_label,/);
    const row =
      '"2026-11-20T10:00:00.000Z","0-0","run-17","t","ci, ""nightly""","/v1/messages","\'@SUM(1)","pool/a pool/b","gpt-5.5-mini","failed",503,"pool_exhausted","true","false",7,0,0,1.5,20,4,0,"1.250000",0,0';
    expect(first?.slice(0, row.length)).toBe(row);
    // It has no other plain value.
    expect(first?.slice(row.length)).toMatch(/^,*$/);
    expect(second).toContain(',"1-0",');
    expect(end).toBe('');
    expect(asked[0]?.search).toMatchObject({
      tokenIds: ['t'],
      filter: RequestFilter.FAILED,
      status: 500,
      endpoint: '/v1/messages',
      accountId: 'pool/a',
      model: 'm',
      requestId: 'run',
      sinceMs: Date.parse('2026-10-31T23:00:00Z'),
      untilMs: Date.parse('2026-11-20T23:00:00Z'),
    });
    const [line = ''] = (await read('/export/requests?format=ndjson&since=2026-11-20T10:00:00%2B01:00')).split('\n');
    expect(JSON.parse(line)).toMatchObject({ tokenLabel: 'ci, "nightly"', requestId: '0-0', attempts: [{}, {}] });
  });

  it.each([
    ['x;=cmd|/C calc', "x;'=cmd|/C calc"],
    ['a; +1;-2;@c', "a; '+1;'-2;'@c"],
    ['\t=1', " '=1"],
    ['＝1+1', "'＝1+1"],
    ['-1.5', '-1.5'],
    ['say "=1";"=2"', `say ""=1"";""'=2""`],
    ['\x1b[2Jgpt\u202e\n', ' [2Jgpt� '],
    ['gpt-5=5', 'gpt-5=5'],
  ])('has the model %j as the quoted text %j, whatever separates lists where it is read', async (model, cell) => {
    const { read } = await serve(requestsOf(1, 1, { model }));
    const [, first = ''] = (await read('/export/requests')).split('\r\n');
    expect(first).toContain(`,"${cell}",`);
    const [line = ''] = (await read('/export/requests?format=ndjson')).split('\n');
    expect(JSON.parse(line)).toMatchObject({ model });
    expect(line).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });

  it('says in its place what cannot be written, and has the rest', async () => {
    const { read } = await serve(requestsOf(1, 2, { model: 'm', receivedAtMs: 253_402_300_799_999_000 }));
    const [, first = '', second = ''] = (await read('/export/requests')).split('\r\n');
    expect(first).toMatch(/^"\(can't be shown: .+\)","0-0",/);
    expect(second).toContain('"0-1"');
    const lines = (await read('/export/requests?format=ndjson')).trim().split('\n');
    expect(lines.map((line) => JSON.parse(line).unreadable)).toEqual([expect.any(String), expect.any(String)]);
  });

  it('has every row of all pages, and continues after an empty one', async () => {
    const { report } = requestsOf(51);
    const listRequests = report?.listRequests;
    if (listRequests === undefined) throw new Error('there is nothing to export');
    const sparse: FakeServices['report'] = {
      listRequests: async (request, context) => {
        const page = await listRequests(request, context);
        return request.pageToken === '7' ? { ...page, requests: [] } : page;
      },
    };
    const { open } = await serve({ report: sparse });
    let lines = 0;
    for await (const chunk of await open('/export/requests?format=ndjson')) {
      for (const byte of chunk) if (byte === 10) lines++;
    }
    expect(lines).toBe(50_000);
  });

  it('ends so that the client sees it is not whole when a page cannot be read', async () => {
    const { report: whole } = requestsOf(5);
    const report: FakeServices['report'] = {
      listRequests: (request, context) => {
        if (request.pageToken === '3') throw new Error('the database is away');
        return whole?.listRequests?.(request, context) ?? {};
      },
    };
    const { open } = await serve({ report });
    const response = await open('/export/requests');
    expect(response.statusCode).toBe(200);
    await expect(text(response)).rejects.toThrow(/aborted/);
  });

  it('is an error, and no file, when the first page cannot be read', async () => {
    const { open } = await serve({ report: { listRequests: () => Promise.reject(new Error('the database is away')) } });
    expect((await open('/export/requests')).statusCode).toBe(500);
  });

  it('waits for a client that does not read, and stops when it leaves', async () => {
    const { report, asked } = requestsOf(100_000);
    const { open } = await serve({ report });
    const response = await open('/export/requests');
    const pages = async () => {
      const before = asked.length;
      await sleep(100);
      return asked.length - before;
    };
    await expect.poll(pages).toBe(0);
    expect(asked.length).toBeLessThan(500);
    response.resume();
    await expect.poll(pages).toBeGreaterThan(0);
    response.destroy();
    await expect.poll(pages).toBe(0);
    expect(asked.length).toBeLessThan(99_000);
  });
});
