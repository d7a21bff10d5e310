import {
  eventDaysOf,
  type GatewayDatabase,
  type SummedColumn,
  summedColumns,
  type UsageEventsTable,
} from '@gateway/database';
import { testDatabases } from '@gateway/database/testing';
import { UsageQueryService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { directClientOf } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { ManualTime } from '@gateway/time/simulated';
import type { Insertable } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { firstIdAt } from '../src/request-log/request-id.ts';
import { createUsageQueryService, type UsageQueryPeers } from '../src/service.ts';

const nowMs = Date.parse('2026-11-20T10:00:00Z');
let time: ManualTime;
beforeEach(() => {
  time = new ManualTime(nowMs);
});
afterEach(() => time[Symbol.dispose]());

describe.each(testDatabases)('usage in $name', ({ open }) => {
  it('is what the token used today and in the last seven local days', async () => {
    await using opened = await open();
    await addDay(opened.database, { local_day: '2026-11-13', input_tokens: 1_000 });
    await addDay(opened.database, { local_day: '2026-11-14', model: 'old' });
    await addDay(opened.database, { local_day: '2026-11-20' });
    await addDay(opened.database, { local_day: '2026-11-20', model: 'large', input_tokens: 5_000_000_000 });
    await addDay(opened.database, { local_day: '2026-11-20', token_id: 'another' });
    const { today, lastSevenDays } = await clientOf(opened.database).getUsage({ tokenId: 'token' });
    expect(today?.sinceMs).toBe(Date.parse('2026-11-19T23:00:00Z'));
    expect(today?.totals).toMatchObject({ requests: 4, inputTokens: 5_000_000_010, outputTokens: 10 });
    expect(today?.byModel.map(({ model }) => model)).toEqual(['large', 'gpt-5.5']);
    expect(lastSevenDays?.sinceMs).toBe(Date.parse('2026-11-13T23:00:00Z'));
    expect(lastSevenDays?.totals).toMatchObject({ requests: 6, cachedTokens: 12 });
    expect(lastSevenDays?.byModel.map(({ model }) => model)).toEqual(['large', 'gpt-5.5', 'old']);
  });

  it('is nothing for a token that used nothing', async () => {
    await using opened = await open();
    const { today } = await clientOf(opened.database).getUsage({ tokenId: 'unused' });
    expect(today?.totals).toMatchObject({ requests: 0, inputTokens: 0, cachedTokens: 0, outputTokens: 0 });
    expect(today?.byModel).toEqual([]);
  });

  it('leaves out models of which a repair left nothing', async () => {
    await using opened = await open();
    const none = { requests: 0, input_tokens: 0, cached_tokens: 0, output_tokens: 0 };
    await addDay(opened.database, { local_day: '2026-11-20', model: 'wrong', ...none });
    await addDay(opened.database, { local_day: '2026-11-20', model: 'tokens only', ...none, output_tokens: 1 });
    const { today } = await clientOf(opened.database).getUsage({ tokenId: 'token' });
    expect(today?.byModel.map(({ model }) => model)).toEqual(['tokens only']);
  });

  it('waits until what was published before is in the ledger', async () => {
    await using opened = await open();
    const untilRecorded = async () => addDay(opened.database, { local_day: '2026-11-20' });
    const { today } = await clientOf(opened.database, 1_000, { progress: { untilRecorded } }).getUsage({
      tokenId: 'token',
    });
    expect(today?.totals?.requests).toBe(2);
  });

  it('is what is there when the ledger does not get so far in time', async () => {
    await using opened = await open();
    await addDay(opened.database, { local_day: '2026-11-20' });
    const waits: number[] = [];
    const untilRecorded = async (timeoutMs: number) => {
      waits.push(timeoutMs);
      throw new Error('late');
    };
    const { today } = await clientOf(opened.database, 700, { progress: { untilRecorded } }).getUsage({
      tokenId: 'token',
    });
    expect(today?.totals?.requests).toBe(2);
    expect(waits).toEqual([700]);
  });

  it('of one day is the input and output tokens of all models', async () => {
    await using opened = await open();
    await addDay(opened.database, { local_day: '2026-11-20' });
    await addDay(opened.database, { local_day: '2026-11-20', model: 'other', input_tokens: 9_000_000_000 });
    await addDay(opened.database, { local_day: '2026-11-19' });
    await addDay(opened.database, { local_day: '2026-11-20', token_id: 'another' });
    const client = clientOf(opened.database);
    const total = async (localDay: string) => (await client.getDayTotal({ tokenId: 'token', localDay })).totalTokens;
    expect(await total('2026-11-20')).toBe(9_000_000_020);
    expect(await total('2026-11-18')).toBe(0);
  });

  it('of one day says which requests are in it: of that token, on that day, and in the ledger', async () => {
    await using opened = await open();
    await addDay(opened.database, { local_day: '2026-11-20' });
    await addRequest(opened.database, { request_id: 'b' });
    await addRequest(opened.database, { request_id: 'a' });
    await addRequest(opened.database, { request_id: 'other day', local_day: '2026-11-19' });
    await addRequest(opened.database, { request_id: 'other token', token_id: 'another' });
    const requestIds = ['not there', 'b', 'other day', 'a', 'other token', 'b'];
    const request = { tokenId: 'token', localDay: '2026-11-20', requestIds };
    expect(await clientOf(opened.database).getDayTotal(request)).toMatchObject({
      totalTokens: 15,
      includedRequestIds: ['b', 'a'],
    });
  });

  it('of one day takes ten thousand requests, and not one more', async () => {
    await using opened = await open();
    await addRequest(opened.database, { request_id: 'r9999' });
    const requestIds = Array.from({ length: 10_000 }, (_, index) => `r${index}`);
    const request = { tokenId: 'token', localDay: '2026-11-20', requestIds };
    const client = clientOf(opened.database);
    expect(await client.getDayTotal(request)).toMatchObject({ totalTokens: 0, includedRequestIds: ['r9999'] });
    const tooMany = client.getDayTotal({ ...request, requestIds: [...requestIds, 'r10000'] });
    await expect(tooMany).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it('of one day never has a total without the requests in it, or the other way round', async () => {
    await using opened = await open();
    const client = clientOf(opened.database);
    await eventDaysOf(opened.database).open(['2026-11-20']);
    const requestIds = Array.from({ length: 30 }, (_, index) => `r${index}`);
    const recording = (async () => {
      for (const [index, request_id] of requestIds.entries()) {
        await opened.database.transaction().execute(async (transaction) => {
          await addRequest(transaction, { request_id });
          await addDay(transaction, { local_day: '2026-11-20', model: `m${index}` });
        });
      }
    })();
    for (let included = 0; included < requestIds.length; ) {
      const answer = await client.getDayTotal({ tokenId: 'token', localDay: '2026-11-20', requestIds });
      included = answer.includedRequestIds.length;
      expect(answer.totalTokens).toBe(included * 15);
    }
    await recording;
  });

  it('of a group is its tokens and cost over all days of a period, with the requests that are in it', async () => {
    await using opened = await open();
    const { database } = opened;
    const client = clientOf(database);
    await addGroupDay(database, { local_day: '2026-11-01', cost_micros: 70 });
    await addGroupDay(database, { local_day: '2026-11-20', token_id: 'another', cost_micros: 5_000_000_000 });
    await addGroupDay(database, { local_day: '2026-11-20', group_id: 'other group', cost_micros: 1 });
    await addGroupDay(database, { local_day: '2026-10-31', cost_micros: 1 });
    const id = idAt(Date.parse('2026-11-20T08:00:00Z'));
    const ofGroup = { group_id: 'g1' };
    await addRequest(database, { ...ofGroup, request_id: id, token_id: 'another' });
    await addRequest(database, { ...ofGroup, request_id: `${id}/1` });
    await addRequest(database, { ...ofGroup, request_id: 'day before', local_day: '2026-10-31' });
    await addRequest(database, { ...ofGroup, request_id: 'first day', local_day: '2026-11-01' });
    await addRequest(database, { group_id: '', request_id: 'no group' });
    const november = { groupId: 'g1', firstDay: '2026-11-01', lastDay: '2026-11-30' };
    const totals = { totalTokens: 30, costMicros: 5_000_000_070 };
    const known = [id, `${id}/1`];
    expect(await client.getGroupTotal({ ...november, requestIds: [...known, `${id}/2`] })).toMatchObject({
      ...totals,
      includedRequestIds: known,
    });
    const requestIds = ['first day', 'day before', id, 'no group'];
    const included = { includedRequestIds: ['first day', id] };
    expect(await client.getGroupTotal({ ...november, requestIds })).toMatchObject({ ...totals, ...included });
    const unused = await client.getGroupTotal({ ...november, groupId: 'unused' });
    expect(unused).toMatchObject({ totalTokens: 0, costMicros: 0, includedRequestIds: [] });
  });

  it('of a group never has a total without the requests in it, or the other way round', async () => {
    await using opened = await open();
    const client = clientOf(opened.database);
    await eventDaysOf(opened.database).open(['2026-11-20']);
    const requestIds = Array.from({ length: 30 }, (_, index) => idAt(nowMs, index));
    const recording = (async () => {
      for (const [index, request_id] of requestIds.entries()) {
        await opened.database.transaction().execute(async (transaction) => {
          await addRequest(transaction, { request_id, group_id: 'g1' });
          await addGroupDay(transaction, { local_day: '2026-11-20', model: `m${index}`, cost_micros: 3 });
        });
      }
    })();
    const period = { groupId: 'g1', firstDay: '2026-11-01', lastDay: '2026-11-30' };
    for (let included = 0; included < requestIds.length; ) {
      const answer = await client.getGroupTotal({ ...period, requestIds });
      included = answer.includedRequestIds.length;
      expect([answer.totalTokens, answer.costMicros]).toEqual([included * 15, included * 3]);
    }
    await recording;
  });

  it('is typical of a model if 95 of 100 answers of the day before have no more output', async () => {
    await using opened = await open();
    const { database } = opened;
    const client = clientOf(database);
    const yesterday = { local_day: '2026-11-19' };
    for (let output_tokens = 1; output_tokens <= 100; output_tokens += 1) {
      await addRequest(database, {
        ...yesterday,
        request_id: `r${output_tokens}`,
        output_tokens,
        input_tokens: 1_000 - output_tokens,
      });
    }
    await addRequest(database, { ...yesterday, request_id: 'one', model: 'rare', output_tokens: 7, input_tokens: 3 });
    await addRequest(database, { ...yesterday, request_id: 'two', output_tokens: 9_999, outcome: 'aborted' });
    await addRequest(database, { request_id: 'today', output_tokens: 9_999, input_tokens: 5 });
    const typical = async () => {
      const { models } = await client.getTypicalOutput({});
      return models.map(({ model, outputTokens, inputTokens }) => `${model} ${outputTokens} ${inputTokens}`);
    };
    expect(await typical()).toEqual(['gpt-5.5 95 994', 'rare 7 3']);
    // Read once an hour, and again when another day is the last full one.
    await addRequest(database, { ...yesterday, request_id: 'late', model: 'late', output_tokens: 8, input_tokens: 4 });
    expect(await typical()).toHaveLength(2);
    time.advanceMs(3_600_000);
    expect(await typical()).toEqual(['gpt-5.5 95 994', 'late 8 4', 'rare 7 3']);
    time.advanceMs(86_400_000);
    expect(await typical()).toEqual(['gpt-5.5 9999 5']);
  });

  it('is refused without a token, for a day that is none, and for too many requests', async () => {
    await using opened = await open();
    const client = clientOf(opened.database);
    const refused = { code: 'invalid_request' };
    await expect(client.getUsage({})).rejects.toMatchObject(refused);
    const period = { firstDay: '2026-11-01', lastDay: '2026-11-30' };
    await expect(client.getGroupTotal(period)).rejects.toMatchObject(refused);
    await expect(client.getGroupTotal({ ...period, groupId: 'g1', lastDay: '' })).rejects.toMatchObject(refused);
    await expect(client.getDayTotal({ tokenId: 'token', localDay: 'today' })).rejects.toMatchObject(refused);
    await expect(client.getDayTotal({ tokenId: 'token', localDay: '2026-02-30' })).rejects.toMatchObject(refused);
  });
});

function idAt(ms: number, index = 0): string {
  return `${firstIdAt(ms)}-7000-8000-${String(index).padStart(12, '0')}`;
}

function clientOf(database: GatewayDatabase, waitMs = 2_000, peers: Pick<UsageQueryPeers, 'progress'> = {}) {
  const runtime = { logger: createLogger('test', 'silent'), metrics: new Metrics() };
  const service = createUsageQueryService({ waitMs }, { database, ...peers }, runtime);
  return directClientOf(service.routes, UsageQueryService);
}

interface Day extends Partial<Record<SummedColumn, number>> {
  readonly local_day: string;
  readonly token_id?: string;
  readonly model?: string;
}

/** Two requests of 10 input and 5 output tokens by default. */
async function addDay(database: GatewayDatabase, day: Day): Promise<void> {
  await database
    .insertInto('usage_daily')
    .values({
      token_id: 'token',
      provider: 'provider_a',
      model: 'gpt-5.5',
      requests: 2,
      input_tokens: 10,
      cached_tokens: 4,
      output_tokens: 5,
      ...day,
    })
    .execute();
}

/** A request of 10 input and 5 output tokens of a group. */
async function addGroupDay(database: GatewayDatabase, day: Day & { readonly group_id?: string }): Promise<void> {
  const nothing = Object.fromEntries(summedColumns.map((column) => [column, 0])) as Record<SummedColumn, number>;
  const counts = { ...nothing, requests: 1, input_tokens: 10, output_tokens: 5 };
  const key = { group_id: 'g1', token_id: 'token', provider: 'provider_a', model: 'gpt-5.5' };
  await database
    .insertInto('usage_daily')
    .values({ ...key, ...counts, ...day })
    .execute();
}

type Request = Pick<Insertable<UsageEventsTable>, 'request_id'> & Partial<Insertable<UsageEventsTable>>;

async function addRequest(database: GatewayDatabase, request: Request): Promise<void> {
  if (!database.isTransaction) await eventDaysOf(database).open([request.local_day ?? '2026-11-20']);
  await database
    .insertInto('usage_events')
    .values({
      token_id: 'token',
      admitted_at_ms: nowMs,
      local_day: '2026-11-20',
      endpoint: '/v1/responses',
      provider: 'provider_a',
      model: 'gpt-5.5',
      input_tokens: 10,
      cached_tokens: 4,
      output_tokens: 5,
      reasoning_tokens: 0,
      estimated: 0,
      outcome: 'completed',
      account_id: 'pool/a',
      ...request,
    })
    .execute();
}
