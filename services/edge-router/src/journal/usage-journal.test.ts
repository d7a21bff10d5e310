import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { Outcome, type UsageRecorded, UsageRecordedSchema } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { encodeRecord } from './journal-record.ts';
import { UsageDelivery } from './usage-delivery.ts';
import { UsageJournal } from './usage-journal.ts';

const event = (requestId: string, outcome = Outcome.COMPLETED): UsageRecorded =>
  create(UsageRecordedSchema, { requestId, tokenId: 't', localDay: '2026-11-20', inputTokens: 3n, outcome });

/** A ledger that can be cut off, and that keeps each request once. */
class FakeLedger {
  readonly rows = new Map<string, UsageRecorded>();
  away = false;

  async record(events: readonly UsageRecorded[]): Promise<void> {
    if (this.away) throw new Error('away');
    for (const each of events) if (!this.rows.has(each.requestId)) this.rows.set(each.requestId, each);
  }
}

describe('UsageJournal', () => {
  let folder: string;
  let ledger: FakeLedger;
  const openJournal = (segmentBytes?: number) =>
    UsageJournal.open({
      folder,
      delivery: new UsageDelivery({ sink: ledger, onFault: () => undefined, retryMs: 5 }),
      onFault: (fault) => {
        throw fault;
      },
      ...(segmentBytes === undefined ? {} : { segmentBytes }),
    });
  const files = () => readdir(folder);

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'journal-'));
    ledger = new FakeLedger();
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('has a finished request on disk before it is delivered, and delivers it', async () => {
    await using journal = await openJournal();
    ledger.away = true;
    journal.open(event('r1'));
    await journal.finish(event('r1'));
    const [name = ''] = await files();
    expect(await readFile(join(folder, name), 'utf8')).toMatch(/^O .*\nF .*\n$/);
    ledger.away = false;
    await expect.poll(() => [...ledger.rows.keys()]).toEqual(['r1']);
  });

  it('leaves nothing behind when everything was delivered', async () => {
    const journal = await openJournal();
    journal.open(event('r1'));
    await journal.finish(event('r1'));
    await expect.poll(() => ledger.rows.size).toBe(1);
    await journal[Symbol.asyncDispose]();
    expect(await files()).toEqual([]);
  });

  it('keeps what could not be delivered for the next process', async () => {
    ledger.away = true;
    const first = await openJournal();
    await first.finish(event('r1'));
    await first[Symbol.asyncDispose]();
    ledger.away = false;
    await using _second = await openJournal();
    await expect.poll(() => [...ledger.rows.keys()]).toEqual(['r1']);
    await expect.poll(async () => (await files()).length).toBe(1);
  });

  it('books an open request of a killed process as failed or lost, unless it had ended', async () => {
    const lines = [
      encodeRecord({ kind: 'open', event: event('unanswered', Outcome.UNSPECIFIED) }),
      encodeRecord({ kind: 'open', event: event('cut', Outcome.UNSPECIFIED) }),
      encodeRecord({ kind: 'open', event: event('cut', Outcome.FAILED) }),
      encodeRecord({ kind: 'open', event: event('refused') }),
      encodeRecord({ kind: 'void', requestId: 'refused' }),
      encodeRecord({ kind: 'open', event: event('done') }),
      encodeRecord({ kind: 'final', event: event('done') }),
      'F {"requestId":"half writ',
    ];
    await writeFile(join(folder, '999999999-x.journal'), lines.join(''));
    await using _journal = await openJournal();
    await expect.poll(() => ledger.rows.size).toBe(3);
    expect(ledger.rows.get('done')?.outcome).toBe(Outcome.COMPLETED);
    expect(ledger.rows.get('cut')).toMatchObject({ outcome: Outcome.FAILED, estimated: true });
    expect(ledger.rows.get('unanswered')).toMatchObject({ outcome: Outcome.LOST, estimated: true });
  });

  it('leaves the files of a living process alone', async () => {
    const name = `${process.ppid}-x.journal`;
    await writeFile(join(folder, name), encodeRecord({ kind: 'final', event: event('r1') }));
    await using _journal = await openJournal();
    expect(await files()).toContain(name);
    expect(ledger.rows.size).toBe(0);
  });

  it('starts new files as it grows, drops delivered ones, and carries open requests along', async () => {
    const journal = await openJournal(200);
    journal.open(event('long'));
    for (let n = 0; n < 20; n++) await journal.finish(event(`r${n}`));
    await expect.poll(() => ledger.rows.size).toBe(20);
    await expect.poll(async () => (await files()).length).toBe(1);
    const [name = ''] = await files();
    expect(await readFile(join(folder, name), 'utf8')).toContain('"long"');
    await journal[Symbol.asyncDispose]();
    expect(await files()).toHaveLength(1);
  });
});
