import { create } from '@bufbuild/protobuf';
import type { GatewayDatabase } from '@gateway/database';
import { testDatabases } from '@gateway/database/testing';
import { RequestEnding, type RequestRecorded } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import {
  RequestFilter,
  RequestSearchSchema,
  UsageReportService,
} from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { directClientOf } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readSearch } from '../src/request-log/request-search.ts';
import { searchPage } from '../src/request-log/search-pages.ts';
import type { LogKey } from '../src/request-log/search-walk.ts';
import { createUsageQueryService } from '../src/service.ts';
import { loggedRequest, requestIdAt, storeLogs } from './request-log-fixtures.ts';

const startMs = Date.parse('2026-11-19T12:00:00Z');
/** The requests cover three local days. */
const stepMs = 600_000;
const { COMPLETED, FAILED, REFUSED, ABORTED } = RequestEnding;

const fields = fc.record({
  tokenId: fc.constantFrom('t1', 't2', 't3'),
  endpoint: fc.constantFrom('/v1/messages', '/v1/responses'),
  model: fc.constantFrom('m%1', 'M%1', 'm_1'),
  accounts: fc.subarray(['pool/a', 'pool/b', 'pool/%']),
  outcome: fc.constantFrom(
    [COMPLETED, 200],
    [FAILED, 503],
    [FAILED, 500],
    [REFUSED, 429],
    [REFUSED, 400],
    [ABORTED, 499],
  ),
  slow: fc.boolean(),
  clientRequestId: fc.constantFrom('', 'run-1', 'run-17'),
});

type Fields = typeof fields extends fc.Arbitrary<infer T> ? T : never;

const searches = fc.record(
  {
    tokenIds: fc.subarray(['t1', 't2', 't3', 'nobody']),
    model: fc.constantFrom('m%1', 'M%1', 'm_1', 'gpt-5.5', 'm'),
    filter: fc.constantFrom(
      RequestFilter.FAILED,
      RequestFilter.MOVED,
      RequestFilter.SLOW,
      RequestFilter.REFUSED,
      RequestFilter.ABORTED,
    ),
    sinceStep: fc.nat(200),
    untilStep: fc.nat(200),
    accountId: fc.constantFrom('pool/a', 'pool/%', 'pool/nobody'),
    endpoint: fc.constantFrom('/v1/messages', '/v1/none'),
    status: fc.constantFrom(200, 400, 429, 500, 503),
    requestId: fc.constantFrom('run-1', 'run-17', requestIdAt(startMs + 30 * stepMs).slice(0, 9), requestIdAt(startMs)),
  },
  { requiredKeys: [] },
);

type Search = typeof searches extends fc.Arbitrary<infer T> ? T : never;

describe.each(testDatabases)('a search of the request log in $name', ({ open }) => {
  it('finds what fits all that is said, however it is divided', async () => {
    await using opened = await open();
    const [given = []] = fc.sample(fc.array(fields, { minLength: 200, maxLength: 200 }), 1);
    const logs = given.map((each, index) => toLog(each, index));
    await storeLogs(opened.database, logs);
    await fc.assert(
      fc.asyncProperty(searches, fc.integer({ min: 1, max: 50 }), fc.boolean(), async (search, size, isHasty) => {
        const limits = {
          searchMs: isHasty ? 0 : 60_000,
          sliceMs: 20,
          fewestRows: 3,
          firstRows: 7,
          mostRows: 20,
        };
        const expected = logs.filter((_, index) => fits(given[index], index, search)).map(({ requestId }) => requestId);
        expect(await pagesOf(opened.database, search, size, limits)).toEqual(expected.toReversed());
      }),
      { numRuns: 150 },
    );
  });

  it('goes on where the page before ended, whatever comes into the log meanwhile', async () => {
    await using opened = await open();
    const logs = Array.from({ length: 9 }, (_, index) => loggedRequest(startMs + index * stepMs));
    await storeLogs(
      opened.database,
      logs.filter((_, index) => index !== 4),
    );
    const client = clientOf(opened.database);
    const first = await client.listRequests({ pageSize: 3 });
    await storeLogs(opened.database, [loggedRequest(startMs + 20 * stepMs), ...logs.slice(4, 5)]);
    const second = await client.listRequests({ pageSize: 3, pageToken: first.nextPageToken });
    const third = await client.listRequests({ pageSize: 3, pageToken: second.nextPageToken });
    const found = [first, second, third].map(({ requests }) =>
      requests.map((each) => logs.findIndex(({ requestId }) => requestId === each.requestId)),
    );
    expect(found).toEqual([
      [8, 7, 6],
      [5, 4, 3],
      [2, 1, 0],
    ]);
    expect((await client.listRequests({ pageSize: 3, pageToken: third.nextPageToken })).requests).toEqual([]);
  });

  it('is refused for what cannot be searched by, and for the token of no page', async () => {
    await using opened = await open();
    const client = clientOf(opened.database);
    const refused = { code: 'invalid_request' };
    const { filter } = { filter: 99 as RequestFilter };
    await expect(client.listRequests({ search: { filter } })).rejects.toMatchObject(refused);
    await expect(client.listRequests({ pageToken: 'further' })).rejects.toMatchObject(refused);
    await expect(client.listRequests({ pageToken: '2026-02-30 x' })).rejects.toMatchObject(refused);
  });
});

function toLog({ accounts, outcome: [ending, status], ...each }: Fields, index: number): RequestRecorded {
  const attempts = accounts.map((accountId) => ({ accountId, model: 'gpt-5.5' }));
  return loggedRequest(startMs + index * stepMs, { ...each, ending, status, attempts }, index);
}

function fits(each: Fields | undefined, index: number, search: Search): boolean {
  if (each === undefined) return false;
  const { tokenIds = [], model, filter, sinceStep, untilStep, accountId, endpoint, status, requestId } = search;
  const [ending, ownStatus = 0] = each.outcome;
  const kinds = {
    [RequestFilter.UNSPECIFIED]: true,
    [RequestFilter.FAILED]: ending === FAILED,
    [RequestFilter.MOVED]: each.accounts.length > 1 && ending === COMPLETED,
    [RequestFilter.SLOW]: each.slow,
    [RequestFilter.REFUSED]: ending === REFUSED,
    [RequestFilter.ABORTED]: ending === ABORTED,
  };
  const models = [each.model, ...(each.accounts.length > 0 ? ['gpt-5.5'] : [])];
  const ids = [requestIdAt(startMs + index * stepMs, index), each.clientRequestId];
  const hasStatus =
    status === 400 || status === 500 ? Math.floor(ownStatus / 100) === status / 100 : ownStatus === status;
  return (
    (tokenIds.length === 0 || tokenIds.includes(each.tokenId)) &&
    (model === undefined || models.includes(model)) &&
    kinds[filter ?? RequestFilter.UNSPECIFIED] &&
    (sinceStep === undefined || index >= sinceStep) &&
    (untilStep === undefined || index < untilStep) &&
    (accountId === undefined || each.accounts.includes(accountId)) &&
    (endpoint === undefined || each.endpoint === endpoint) &&
    (status === undefined || hasStatus) &&
    (requestId === undefined || ids.some((id) => id.startsWith(requestId)))
  );
}

/** The ids on all pages. */
async function pagesOf(
  database: GatewayDatabase,
  { sinceStep, untilStep, ...search }: Search,
  size: number,
  limits: Parameters<typeof searchPage>[3],
): Promise<readonly string[]> {
  const message = create(RequestSearchSchema, search);
  if (sinceStep !== undefined) message.sinceMs = startMs + sinceStep * stepMs;
  if (untilStep !== undefined) message.untilMs = startMs + untilStep * stepMs;
  const found: string[] = [];
  for (let before: LogKey | undefined; ; ) {
    const page = await searchPage(database, readSearch(message), { size, before }, limits);
    expect(page.requests.length).toBeLessThanOrEqual(size);
    found.push(...page.requests.map(({ requestId }) => requestId));
    if (page.next === undefined) return found;
    before = page.next;
  }
}

function clientOf(database: GatewayDatabase) {
  const runtime = { logger: createLogger('test', 'silent'), metrics: new Metrics() };
  return directClientOf(createUsageQueryService({ waitMs: 0 }, { database }, runtime).routes, UsageReportService);
}
