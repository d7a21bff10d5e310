import { create } from '@bufbuild/protobuf';
import { eventDaysOf, type GatewayDatabase, type UsageDailyTable } from '@gateway/database';
import { testDatabases } from '@gateway/database/testing';
import { UsagePartSchema } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { RequestEnding } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { UsageLedgerService } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { UsageIngestService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { directClientOf } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import fc from 'fast-check';
import type { Insertable, Updateable } from 'kysely';
import { describe, expect, it } from 'vitest';
import { createUsageIngestService } from '../src/service.ts';
import { checkDay } from '../src/store/check-day.ts';
import { afterGivingUp, expectedTotals, ledgerTotals, usedRequest } from './usage-fixtures.ts';

const localDay = '2026-11-20';

describe.each(testDatabases)('reconciling a day in $name', ({ open }) => {
  it('finds nothing when sums and events agree, whatever the events', async () => {
    await using opened = await open();
    const { record, ledger } = clientsOf(opened.database);
    const endings = [
      RequestEnding.COMPLETED,
      RequestEnding.ABORTED,
      RequestEnding.FAILED,
      // Lost.
      RequestEnding.UNSPECIFIED,
    ];
    const event = fc.record({
      tokenId: fc.constantFrom('t1', 't2', 'é'),
      provider: fc.constantFrom('', 'provider_a'),
      model: fc.constantFrom('', 'm1', 'm2'),
      inputTokens: fc.integer({ min: 0, max: 10 }),
      cachedTokens: fc.constant(0),
      outputTokens: fc.integer({ min: 0, max: 10 }),
      ending: fc.constantFrom(...endings),
      accountId: fc.constantFrom('', 'pool/a', 'pool/b'),
      groupId: fc.constantFrom('', 'g1', 'g2'),
      cacheWrite5mTokens: fc.integer({ min: 0, max: 10 }),
      cacheWrite1hTokens: fc.integer({ min: 0, max: 10 }),
      costMicros: fc.option(fc.integer({ min: 0, max: 10 }), { nil: undefined }),
    });
    const request = event.map(({ costMicros, ...fields }) =>
      usedRequest({ ...fields, ...(costMicros !== undefined && { costMicros }) }),
    );
    const moved = fc
      .tuple(request, fc.array(request, { maxLength: 2 }))
      .map(([own, givenUp]) => afterGivingUp(own, ...givenUp));
    const [requests = []] = fc.sample(fc.array(moved, { minLength: 200, maxLength: 300, size: 'max' }), 1);
    await record(...requests);
    const stored = await opened.database.selectFrom('usage_events').select('outcome').distinct().execute();
    expect(new Set(stored.map(({ outcome }) => outcome))).toEqual(
      new Set(['completed', 'aborted', 'failed', 'lost', 'given_up']),
    );
    expect(await ledger.reconcileDay({ localDay })).toMatchObject({ eventsKept: true, differenceCount: 0 });
    // Many slices give the same result as one.
    const sliced = await checkDay(eventDaysOf(opened.database), localDay, { repair: false, atATime: 7 });
    expect(sliced).toEqual([]);
  });

  it('finds sums that are too large, too small, missing, and of nothing', async () => {
    await using opened = await open();
    const { record, ledger } = clientsOf(opened.database);
    const tokens = ['large', 'missing', 'right', 'small'];
    await record(...tokens.map((tokenId) => usedRequest({ tokenId })));
    await plant(opened.database, 'large', { requests: 2 });
    await plant(opened.database, 'small', { output_tokens: 1 });
    await opened.database.deleteFrom('usage_daily').where('token_id', '=', 'missing').execute();
    await opened.database.insertInto('usage_daily').values(sumOf('invented')).execute();
    const { differences, differenceCount, repaired } = await ledger.reconcileDay({ localDay });
    expect({ differenceCount, repaired }).toEqual({ differenceCount: 4, repaired: false });
    expect(differences).toMatchObject([
      { tokenId: 'invented', recorded: { requests: 1 }, counted: { requests: 0, inputTokens: 0 } },
      { tokenId: 'large', recorded: { requests: 2 }, counted: { requests: 1 } },
      { tokenId: 'missing', recorded: { requests: 0, outputTokens: 0 }, counted: { requests: 1, outputTokens: 5 } },
      { tokenId: 'small', recorded: { outputTokens: 1 }, counted: { outputTokens: 5 } },
    ]);
    expect((await ledger.reconcileDay({ localDay })).differenceCount).toBe(4);
  });

  it('finds and mends what differs of an account, of a group, and of a cost', async () => {
    await using opened = await open();
    const { record, ledger } = clientsOf(opened.database);
    const costs = { costMicros: 70, cacheWrite5mTokens: 2 };
    const older = usedRequest({ tokenId: 'a', accountId: '' });
    await record(...['a', 'b', 'c'].map((tokenId) => usedRequest({ tokenId, groupId: 'g1', ...costs })), older);
    const sums = () => opened.database.selectFrom('usage_daily').selectAll().orderBy('token_id').execute();
    const before = await sums();
    const ofAccount = opened.database.updateTable('usage_daily').where('account_id', '=', 'pool/a');
    await ofAccount.set({ input_tokens: 7 }).where('token_id', '=', 'a').execute();
    await ofAccount.set({ group_id: '' }).where('token_id', '=', 'b').execute();
    await plant(opened.database, 'c', { cost_micros: 71, costed_output_tokens: 0 });
    const { differences } = await ledger.reconcileDay({ localDay, repair: true });
    expect(differences).toMatchObject([
      { tokenId: 'a', accountId: 'pool/a', recorded: { inputTokens: 7 }, counted: { inputTokens: 10 } },
      { tokenId: 'b', groupId: '', recorded: { requests: 1 }, counted: { requests: 0 } },
      { tokenId: 'b', groupId: 'g1', recorded: { requests: 0 }, counted: { requests: 1, costMicros: 70 } },
      { tokenId: 'c', recorded: { costMicros: 71 }, counted: { costMicros: 70 } },
    ]);
    const after = (await sums()).filter(({ requests }) => requests > 0);
    expect(new Set(after)).toEqual(new Set(before));
  });

  it('agrees with what was priced by parts, and mends what of it had no price', async () => {
    await using opened = await open();
    const { record, ledger } = clientsOf(opened.database);
    const counts = { inputTokens: 10, outputTokens: 5 };
    const toolCalls = [{ tool: 'web_search', calls: 2 }];
    const parts = [create(UsagePartSchema, { ...counts, speed: 'fast', toolCalls })];
    await record(usedRequest({ tokenId: 'a', groupId: 'g1', parts }), usedRequest({ tokenId: 'b' }));
    expect(await ledger.reconcileDay({ localDay })).toMatchObject({ differenceCount: 0 });
    const sums = () => opened.database.selectFrom('usage_daily').selectAll().orderBy('token_id').execute();
    const before = await sums();
    // Without a price as it was served, it is not priced later; what had no price at all may be.
    expect(before).toMatchObject([
      { token_id: 'a', cost_micros: 0, costed_input_tokens: 10, unpriced_tokens: 15, unpriced_calls: 2 },
      { token_id: 'b', cost_micros: 0, costed_input_tokens: 0, unpriced_tokens: 0 },
    ]);
    await plant(opened.database, 'a', { unpriced_tokens: 1, unpriced_calls: 0 });
    expect(await ledger.reconcileDay({ localDay, repair: true })).toMatchObject({ differenceCount: 1 });
    expect(await sums()).toEqual(before);
  });

  it('mends any number of sums', async () => {
    await using opened = await open();
    const { record, ledger } = clientsOf(opened.database);
    const events = Array.from({ length: 2_500 }, (_, index) => usedRequest({ tokenId: `t${index}`, groupId: 'g1' }));
    for (let start = 0; start < events.length; start += 500) await record(...events.slice(start, start + 500));
    await opened.database.deleteFrom('usage_daily').execute();
    expect(await ledger.reconcileDay({ localDay, repair: true })).toMatchObject({ differenceCount: 2_500 });
    expect(await ledger.reconcileDay({ localDay })).toMatchObject({ differenceCount: 0 });
  });

  it('mends what differs when asked to, and nothing else', async () => {
    await using opened = await open();
    const { record, ledger } = clientsOf(opened.database);
    const events = ['a', 'b', 'c'].map((tokenId) => usedRequest({ tokenId }));
    const otherDay = usedRequest({ localDay: '2026-11-19' });
    await record(...events, otherDay);
    await plant(opened.database, 'a', { input_tokens: 7 });
    await opened.database.deleteFrom('usage_daily').where('token_id', '=', 'b').execute();
    expect(await ledger.reconcileDay({ localDay, repair: true })).toMatchObject({ differenceCount: 2, repaired: true });
    expect(await ledger.reconcileDay({ localDay, repair: true })).toMatchObject({
      differenceCount: 0,
      repaired: false,
    });
    expect(await ledgerTotals(opened.database)).toEqual(expectedTotals([...events, otherDay]));
  });

  it('mends exactly while events are being recorded, and while others mend', async () => {
    await using opened = await open();
    const { record, ledger } = clientsOf(opened.database);
    const events = Array.from({ length: 300 }, (_, index) => usedRequest({ tokenId: `t${index % 3}` }));
    await record(...events.slice(0, 30));
    await plant(opened.database, 't0', { requests: 1_000, output_tokens: 1 });
    await plant(opened.database, 't1', { requests: 0, input_tokens: 0 });
    const recording = (async () => {
      for (let start = 30; start < events.length; start += 10) await record(...events.slice(start, start + 10));
    })();
    await Promise.all(Array.from({ length: 5 }, () => ledger.reconcileDay({ localDay, repair: true })));
    await recording;
    expect(await ledgerTotals(opened.database)).toEqual(expectedTotals(events));
  });

  it('compares nothing, and mends nothing, of a day whose events are no longer kept', async () => {
    await using opened = await open();
    const { record, ledger } = clientsOf(opened.database);
    await record(usedRequest({ localDay: '2026-08-01' }));
    await eventDaysOf(opened.database).removeBefore('2026-08-02', new AbortController().signal);
    const answer = await ledger.reconcileDay({ localDay: '2026-08-01', repair: true });
    expect(answer).toMatchObject({ eventsKept: false, differenceCount: 0, repaired: false });
    const [sum] = await opened.database.selectFrom('usage_daily').select('requests').execute();
    expect(sum).toEqual({ requests: 1 });
    expect(await ledger.reconcileDay({ localDay: '2026-08-02' })).toMatchObject({ eventsKept: true });
  });

  it('is refused for a day that is none', async () => {
    await using opened = await open();
    const { ledger } = clientsOf(opened.database);
    const refused = { code: 'invalid_request' };
    await expect(ledger.reconcileDay({ localDay: 'yesterday' })).rejects.toMatchObject(refused);
  });
});

function clientsOf(database: GatewayDatabase) {
  const runtime = { logger: createLogger('test', 'silent'), metrics: new Metrics() };
  const { routes } = createUsageIngestService(
    { batchEvents: 50, retentionDays: 90, logRetentionDays: 7 },
    { database },
    runtime,
  );
  const ingest = directClientOf(routes, UsageIngestService);
  return {
    ledger: directClientOf(routes, UsageLedgerService),
    record: (...requests: ReturnType<typeof usedRequest>[]) => ingest.record({ requests }),
  };
}

async function plant(database: GatewayDatabase, tokenId: string, wrong: Updateable<UsageDailyTable>): Promise<void> {
  await database.updateTable('usage_daily').set(wrong).where('token_id', '=', tokenId).execute();
}

function sumOf(token_id: string): Insertable<UsageDailyTable> {
  return {
    token_id,
    local_day: localDay,
    provider: 'provider_a',
    model: 'gpt-5.5',
    requests: 1,
    input_tokens: 10,
    cached_tokens: 4,
    output_tokens: 5,
  };
}
