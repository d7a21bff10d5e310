import { toBinary } from '@bufbuild/protobuf';
import { eventDaysOf, type GatewayDatabase } from '@gateway/database';
import { testDatabases } from '@gateway/database/testing';
import { type RequestRecorded, RequestRecordedSchema } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { UsageLedgerService } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { UsageIngestService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { directClientOf } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { toUsageMessages } from '@gateway/usage-stream';
import { describe, expect, it } from 'vitest';
import { toDeadLetter } from '../src/recording/ledger-writer.ts';
import { createUsageIngestService } from '../src/service.ts';
import { UsageLedger } from '../src/store/usage-ledger.ts';
import { expectedTotals, ledgerTotals, usedRequest } from './usage-fixtures.ts';

describe.each(testDatabases)('replaying dead letters in $name', ({ open }) => {
  it('records what is understood now, once, and deletes the letter', async () => {
    await using opened = await open();
    const [event, inMessage, another] = [usedRequest(), usedRequest(), usedRequest()];
    await bury(opened.database, bytesOf(event), ...toUsageMessages([inMessage, another]).map(({ data }) => data));
    const ledger = clientsOf(opened.database).ledger;
    expect(await ledger.replayDeadLetters({})).toMatchObject({ replayed: 2, duplicates: 0, stillDead: [] });
    expect(await ledgerTotals(opened.database)).toEqual(expectedTotals([event, inMessage, another]));
    expect(await letters(opened.database)).toBe(0);
    expect(await ledger.replayDeadLetters({})).toMatchObject({ replayed: 0, duplicates: 0, stillDead: [] });
  });

  it('leaves a letter of which nothing can be recorded', async () => {
    await using opened = await open();
    await bury(opened.database, bytesOf({ ...usedRequest(), attempts: [] }));
    const { duplicates, stillDead } = await clientsOf(opened.database).ledger.replayDeadLetters({});
    expect(duplicates).toBe(0);
    expect(stillDead).toMatchObject([{ reason: 'the bytes are not a request record' }]);
    expect(await letters(opened.database)).toBe(1);
  });

  it('deletes a letter whose event the ledger has, and counts nothing', async () => {
    await using opened = await open();
    const { ledger, record } = clientsOf(opened.database);
    const event = usedRequest();
    await record(event);
    await bury(opened.database, bytesOf(event));
    expect(await ledger.replayDeadLetters({})).toMatchObject({ replayed: 0, duplicates: 1 });
    expect(await ledgerTotals(opened.database)).toEqual(expectedTotals([event]));
    expect(await letters(opened.database)).toBe(0);
  });

  it('leaves what is still not understood, and says why', async () => {
    await using opened = await open();
    const broken = usedRequest({ localDay: 'tomorrow' });
    await bury(opened.database, bytesOf(broken), Buffer.from('not a message'), bytesOfSeveral(usedRequest(), broken));
    const { replayed, stillDead } = await clientsOf(opened.database).ledger.replayDeadLetters({});
    expect(replayed).toBe(0);
    expect(stillDead.map(({ reason }) => reason).toSorted()).toEqual([
      'localDay is not a day',
      'localDay is not a day',
      'the bytes are not a request record',
    ]);
    expect(await letters(opened.database)).toBe(3);
    expect(await ledgerTotals(opened.database)).toEqual(expectedTotals([]));
  });

  it('leaves events of days that are no longer kept: they may have been counted', async () => {
    await using opened = await open();
    const old = usedRequest({ localDay: '2026-08-01' });
    await eventDaysOf(opened.database).removeBefore('2026-09-01', new AbortController().signal);
    await bury(opened.database, bytesOfSeveral(old, usedRequest()));
    for (const dryRun of [true, false]) {
      const { replayed, stillDead } = await clientsOf(opened.database).ledger.replayDeadLetters({ dryRun });
      expect(replayed).toBe(0);
      expect(stillDead).toMatchObject([{ reason: expect.stringContaining('no longer kept') }]);
    }
    expect(await letters(opened.database)).toBe(1);
    expect(await ledgerTotals(opened.database)).toEqual(expectedTotals([]));
  });

  it('only says what would happen when asked to', async () => {
    await using opened = await open();
    const { ledger, record } = clientsOf(opened.database);
    const known = usedRequest();
    await record(known);
    await bury(opened.database, bytesOf(known), bytesOf(usedRequest()), Buffer.from('not a message'));
    expect(await ledger.replayDeadLetters({ dryRun: true })).toMatchObject({ replayed: 1, duplicates: 1 });
    expect(await letters(opened.database)).toBe(3);
    expect(await ledgerTotals(opened.database)).toEqual(expectedTotals([known]));
  });

  it('reads page after page, each letter once', async () => {
    await using opened = await open();
    const events = Array.from({ length: 450 }, () => usedRequest());
    await bury(opened.database, ...events.map(bytesOf), Buffer.from('not a message'));
    const { ledger } = clientsOf(opened.database);
    const totals = { replayed: 0, stillDead: 0, pages: 0 };
    for (let pageToken: string | undefined = ''; pageToken !== undefined; ) {
      const page = await ledger.replayDeadLetters({ pageToken });
      totals.replayed += page.replayed;
      totals.stillDead += page.stillDead.length;
      totals.pages++;
      pageToken = page.nextPageToken === '' ? undefined : page.nextPageToken;
    }
    expect(totals).toEqual({ replayed: 450, stillDead: 1, pages: 3 });
    expect(await ledgerTotals(opened.database)).toEqual(expectedTotals(events));
  });

  it('counts once what two operators replay at the same time', async () => {
    await using opened = await open();
    const events = Array.from({ length: 40 }, () => usedRequest());
    await bury(opened.database, ...events.map(bytesOf));
    const { ledger } = clientsOf(opened.database);
    const answers = await Promise.all(Array.from({ length: 4 }, () => ledger.replayDeadLetters({})));
    expect(answers.reduce((sum, { replayed }) => sum + replayed, 0)).toBe(40);
    expect(await ledgerTotals(opened.database)).toEqual(expectedTotals(events));
  });

  it('takes back what ingest itself put aside, once the reason is gone', async () => {
    await using opened = await open();
    const { ledger, record } = clientsOf(opened.database);
    const event = usedRequest();
    await record({ ...event, localDay: 'tomorrow' });
    const [letter] = await opened.database.selectFrom('dead_letters').select('dead_letter_id').execute();
    const payload = Buffer.from(bytesOf(event)).toString('base64');
    await opened.database.updateTable('dead_letters').set({ payload }).execute();
    expect(letter).toBeDefined();
    expect(await ledger.replayDeadLetters({})).toMatchObject({ replayed: 1 });
    expect(await ledgerTotals(opened.database)).toEqual(expectedTotals([event]));
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
    record: (...requests: RequestRecorded[]) => ingest.record({ requests }),
  };
}

async function bury(database: GatewayDatabase, ...payloads: readonly Uint8Array[]): Promise<void> {
  const ledger = new UsageLedger(database);
  for (const payload of payloads) await ledger.addDeadLetter(toDeadLetter(payload, 'an earlier release', 1_000));
}

function bytesOf(event: RequestRecorded): Uint8Array {
  return toBinary(RequestRecordedSchema, event);
}

function bytesOfSeveral(...requests: readonly RequestRecorded[]): Uint8Array {
  const [message] = toUsageMessages(requests);
  if (message === undefined) throw new Error('no requests, no message');
  return message.data;
}

async function letters(database: GatewayDatabase): Promise<number> {
  return (await database.selectFrom('dead_letters').select('dead_letter_id').execute()).length;
}
