import { timestampMs } from '@bufbuild/protobuf/wkt';
import type { GatewayDatabase } from '@gateway/database';
import { testDatabases } from '@gateway/database/testing';
import { UsageQueryService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { directClientOf } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { ManualClock } from '@gateway/time';
import { describe, expect, it } from 'vitest';
import { createUsageQueryService } from '../src/service.ts';

const nowMs = Date.parse('2026-11-20T10:00:00Z');

describe.each(testDatabases)('usage in $name', ({ open }) => {
  it('is what the token used today and in the last seven local days', async () => {
    await using opened = await open();
    await addDay(opened.database, { local_day: '2026-11-13', input_tokens: 1_000 });
    await addDay(opened.database, { local_day: '2026-11-14', model: 'old' });
    await addDay(opened.database, { local_day: '2026-11-20' });
    await addDay(opened.database, { local_day: '2026-11-20', model: 'large', input_tokens: 5_000_000_000 });
    await addDay(opened.database, { local_day: '2026-11-20', token_id: 'another' });
    const { today, lastSevenDays, missingRequestIds } = await clientOf(opened.database).getUsage({ tokenId: 'token' });
    expect(missingRequestIds).toEqual([]);
    expect(today?.since && timestampMs(today.since)).toBe(Date.parse('2026-11-19T23:00:00Z'));
    expect(today?.totals).toMatchObject({ requests: 4n, inputTokens: 5_000_000_010n, outputTokens: 10n });
    expect(today?.byModel.map(({ model }) => model)).toEqual(['large', 'gpt-5.5']);
    expect(lastSevenDays?.since && timestampMs(lastSevenDays.since)).toBe(Date.parse('2026-11-13T23:00:00Z'));
    expect(lastSevenDays?.totals).toMatchObject({ requests: 6n, cachedTokens: 12n });
    expect(lastSevenDays?.byModel.map(({ model }) => model)).toEqual(['large', 'gpt-5.5', 'old']);
  });

  it('is nothing for a token that used nothing', async () => {
    await using opened = await open();
    const { today } = await clientOf(opened.database).getUsage({ tokenId: 'nobody' });
    expect(today?.totals).toMatchObject({ requests: 0n, inputTokens: 0n, cachedTokens: 0n, outputTokens: 0n });
    expect(today?.byModel).toEqual([]);
  });

  it('waits for requests that are about to be recorded', async () => {
    await using opened = await open();
    await addRequest(opened.database, 'early');
    const asking = clientOf(opened.database, 30_000).getUsage({
      tokenId: 'token',
      includeRequestIds: ['early', 'late'],
    });
    await opened.database.transaction().execute(async (transaction) => {
      await addDay(transaction, { local_day: '2026-11-20' });
      await addRequest(transaction, 'late');
    });
    const { today, missingRequestIds } = await asking;
    expect(missingRequestIds).toEqual([]);
    expect(today?.totals?.requests).toBe(2n);
  });

  it('names requests that did not come in time', async () => {
    await using opened = await open();
    await addRequest(opened.database, 'here');
    const { missingRequestIds } = await clientOf(opened.database, 50).getUsage({
      tokenId: 'token',
      includeRequestIds: ['gone', 'here'],
    });
    expect(missingRequestIds).toEqual(['gone']);
  });

  it('of one day is the input and output tokens of all models', async () => {
    await using opened = await open();
    await addDay(opened.database, { local_day: '2026-11-20' });
    await addDay(opened.database, { local_day: '2026-11-20', model: 'other', input_tokens: 9_000_000_000 });
    await addDay(opened.database, { local_day: '2026-11-19' });
    await addDay(opened.database, { local_day: '2026-11-20', token_id: 'another' });
    const client = clientOf(opened.database);
    const total = async (localDay: string) => (await client.getDayTotal({ tokenId: 'token', localDay })).totalTokens;
    expect(await total('2026-11-20')).toBe(9_000_000_020n);
    expect(await total('2026-11-18')).toBe(0n);
  });

  it('is refused without a token, for a day that is none, and for too many requests', async () => {
    await using opened = await open();
    const client = clientOf(opened.database);
    const refused = { code: 'invalid_request' };
    await expect(client.getUsage({})).rejects.toMatchObject(refused);
    await expect(client.getDayTotal({ tokenId: 'token', localDay: 'today' })).rejects.toMatchObject(refused);
    const includeRequestIds = Array.from({ length: 1_001 }, (_, index) => `r${index}`);
    await expect(client.getUsage({ tokenId: 'token', includeRequestIds })).rejects.toMatchObject(refused);
  });
});

function clientOf(database: GatewayDatabase, waitMs = 2_000) {
  const runtime = { logger: createLogger('test', 'silent'), metrics: new Metrics() };
  const service = createUsageQueryService({ waitMs }, { database }, runtime, { clock: new ManualClock(nowMs) });
  return directClientOf(service.routes, UsageQueryService);
}

interface Day {
  readonly local_day: string;
  readonly token_id?: string;
  readonly model?: string;
  readonly input_tokens?: number;
}

/** Two requests of 10 input and 5 output tokens, unless said otherwise. */
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

async function addRequest(database: GatewayDatabase, requestId: string): Promise<void> {
  await database
    .insertInto('usage_events')
    .values({
      request_id: requestId,
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
    })
    .execute();
}
