import { openTestSqlite } from '@gateway/database/testing';
import { describe, expect, it } from 'vitest';
import { usedRequest } from '../../test/usage-fixtures.ts';
import { type LedgerEntry, readRecord } from '../recording/ledger-entry.ts';
import { UsageLedger } from './usage-ledger.ts';

const { signal } = new AbortController();

describe('the ledger', () => {
  it('adds entries from the first day that is kept, and none of the days before it', async () => {
    await using opened = await openTestSqlite();
    const ledger = new UsageLedger(opened.database);
    await ledger.days.removeBefore('2026-11-20', signal);
    const [before, first] = [entryOf('2026-11-19'), entryOf('2026-11-20')];
    expect(await ledger.add([before])).toEqual({ fresh: new Set(), tooOld: new Set([before]) });
    expect(await ledger.add([before, first])).toEqual({ fresh: new Set([first]), tooOld: new Set([before]) });
    expect(await opened.database.selectFrom('usage_events').selectAll().execute()).toEqual([first]);
    expect(await opened.database.selectFrom('usage_daily').select('requests').execute()).toEqual([{ requests: 1 }]);
  });

  it('replaces only the estimates among the entries that it had', async () => {
    await using opened = await openTestSqlite();
    const ledger = new UsageLedger(opened.database);
    const [known, ended] = [entryOf('2026-11-20'), entryOf('2026-11-20')];
    const estimate = { ...ended, estimated: 1, outcome: 'failed' as const, input_tokens: 3 };
    await ledger.add([known, estimate]);
    await ledger.add([{ ...known, input_tokens: 99 }, ended]);
    const stored = await opened.database.selectFrom('usage_events').selectAll().execute();
    expect(new Set(stored)).toEqual(new Set([known, ended]));
    expect(await opened.database.selectFrom('usage_daily').select(['requests', 'input_tokens']).execute()).toEqual([
      { requests: 2, input_tokens: 20 },
    ]);
  });

  it('keeps the days of events and those of the request log apart', async () => {
    await using opened = await openTestSqlite();
    const ledger = new UsageLedger(opened.database);
    const early = entryOf('2026-11-19');
    await ledger.logDays.removeBefore('2026-11-20', signal);
    expect(await ledger.add([early])).toEqual({ fresh: new Set([early]), tooOld: new Set() });
    const kept = await opened.database.selectFrom('usage_retention').select(['table_name', 'first_day']).execute();
    expect(kept).toContainEqual({ table_name: 'request_log', first_day: '2026-11-20' });
    expect(kept).not.toContainEqual({ table_name: 'usage_events', first_day: '2026-11-20' });
  });
});

function entryOf(localDay: string): LedgerEntry {
  const entries = readRecord(usedRequest({ localDay }));
  return typeof entries === 'object' && entries.length === 1 && entries[0] !== undefined
    ? entries[0]
    : expect.fail(String(entries));
}
