import { type Database, type EventDays, firstKeptDay, keyColumns } from '@gateway/database';
import { type Kysely, sql, type Transaction } from 'kysely';
import { addUp, type DailySum, keyOf, negative, plus } from '../recording/ledger-entry.ts';
import { addSums } from './usage-ledger.ts';

/** The maximum number of events that one statement counts, so that none takes long. */
const eventsAtATime = 200_000;

/**
 * Compares the daily sums of a day with the events that they add up. An event and its sum are added
 * in one transaction. So what a sum lacks in one snapshot it lacks in every later one, and adding
 * the difference repairs it whatever is recorded in the meantime.
 *
 * @returns undefined when the day's events are no longer kept.
 */
export async function checkDay(
  days: EventDays,
  localDay: string,
  { repair, atATime = eventsAtATime }: { readonly repair: boolean; readonly atATime?: number },
) {
  return await days.withLock({
    read: async (snapshot) => {
      if (localDay < (await firstKeptDay(snapshot))) return undefined;
      const recorded = await snapshot.selectFrom('usage_daily').selectAll().where('local_day', '=', localDay).execute();
      return differencesOf(recorded, await countedSums(snapshot, localDay, atATime));
    },
    change: async (transaction, differences = []) => {
      const missing = differences.map((difference) => difference.missing);
      if (repair) await addSums(transaction, missing);
    },
  });
}

/** Counts in slices, in the order in which the events are stored. */
async function countedSums(snapshot: Transaction<Database>, localDay: string, atATime: number) {
  const slices: (readonly DailySum[])[] = [];
  let after: string | undefined = '';
  while (after !== undefined) {
    const endOfSlice: { readonly request_id: string } | undefined = await snapshot
      .selectFrom('usage_events')
      .select('request_id')
      .where('local_day', '=', localDay)
      .where('request_id', '>', after)
      .orderBy('request_id')
      .offset(atATime - 1)
      .limit(1)
      .executeTakeFirst();
    slices.push(await sumsOfSlice(snapshot, localDay, after, endOfSlice?.request_id));
    after = endOfSlice?.request_id;
  }
  return addUp(slices.flat());
}

/**
 * Daily sums that differ from the total of their events, sorted by key. A missing sum counts as
 * zero.
 */
function differencesOf(recorded: readonly DailySum[], counted: readonly DailySum[]) {
  const [recordedSums, countedSums] = [byKey(recorded), byKey(counted)];
  return addUp([...counted, ...recorded.map(negative)]).map((missing) => ({
    recorded: recordedSums.get(keyOf(missing)) ?? nothingOf(missing),
    counted: countedSums.get(keyOf(missing)) ?? nothingOf(missing),
    /** What must be added to the recorded sum. */
    missing,
  }));
}

function byKey(sums: readonly DailySum[]): ReadonlyMap<string, DailySum> {
  return new Map(sums.map((sum) => [keyOf(sum), sum]));
}

function nothingOf(sum: DailySum): DailySum {
  return plus(sum, sum, -1);
}

const tokenColumns = [
  'input_tokens',
  'cached_tokens',
  'cache_write_5m_tokens',
  'cache_write_1h_tokens',
  'output_tokens',
] as const;

/** Counts like `dailySums`. `last` is undefined in the last slice. */
async function sumsOfSlice(snapshot: Kysely<Database>, localDay: string, after: string, last: string | undefined) {
  const answered = sql<number>`case when provider <> '' and outcome not in ('lost', 'given_up') then 1 else 0 end`;
  return await snapshot
    .selectFrom('usage_events')
    .select([
      ...keyColumns,
      sql<number>`cast(sum(${answered}) as bigint)`.as('requests'),
      sql<number>`cast(coalesce(sum(cost_micros), 0) as bigint)`.as('cost_micros'),
      ...([...tokenColumns, 'unpriced_tokens', 'unpriced_calls'] as const).map((column) =>
        sql<number>`cast(sum(${sql.ref(column)}) as bigint)`.as(column),
      ),
      ...tokenColumns.map((column) => {
        const costed = sql`case when cost_micros is null and parts is null then 0 else ${sql.ref(column)} end`;
        return sql<number>`cast(sum(${costed}) as bigint)`.as(`costed_${column}` as const);
      }),
    ])
    .where('local_day', '=', localDay)
    .where('request_id', '>', after)
    .$if(last !== undefined, (query) => query.where('request_id', '<=', last ?? ''))
    .groupBy(keyColumns)
    .execute();
}
