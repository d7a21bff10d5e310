import { type Database, type EventDays, firstKeptDay } from '@gateway/database';
import { type Kysely, sql, type Transaction } from 'kysely';
import { correctionOf, type Difference, differencesOf } from '../reconcile/compare-sums.ts';
import { type DailySum, sumOfSums } from '../recording/daily-sums.ts';
import { addSums } from './usage-ledger.ts';

/** Absent differences: the day's events are no longer kept. */
export interface CheckedDay {
  readonly differences: readonly Difference[] | undefined;
}

/** One statement counts so many events at most, so that none takes long. */
const eventsAtATime = 200_000;

/** Compares daily sums with the events that they are sums of. */
export class LedgerCheck {
  readonly #days: EventDays;
  readonly #eventsAtATime: number;

  constructor(days: EventDays, atATime = eventsAtATime) {
    this.#days = days;
    this.#eventsAtATime = atATime;
  }

  /**
   * An event is added together with its sum, in one transaction. What a sum lacks in one snapshot it lacks in every
   * later one, so that adding the difference mends it whatever is recorded meanwhile.
   */
  async day(localDay: string, { repair }: { readonly repair: boolean }): Promise<CheckedDay> {
    return await this.#days.undisturbed({
      read: async (snapshot) => {
        if (localDay < (await firstKeptDay(snapshot))) return { differences: undefined };
        const recorded = await recordedSums(snapshot, localDay);
        return { differences: differencesOf(recorded, await this.#countedSums(snapshot, localDay)) };
      },
      change: async (transaction, { differences = [] }) => {
        if (repair) await addSums(transaction, differences.map(correctionOf));
      },
    });
  }

  /** Counts slice by slice, in the order in which the events are stored. */
  async #countedSums(snapshot: Transaction<Database>, localDay: string): Promise<readonly DailySum[]> {
    const slices: (readonly DailySum[])[] = [];
    let after: string | undefined = '';
    while (after !== undefined) {
      const last: string | undefined = await this.#endOfSlice(snapshot, localDay, after);
      slices.push(await sumsOfSlice(snapshot, { localDay, after, last }));
      after = last;
    }
    return sumOfSums(slices.flat());
  }

  /** The last request id of a slice; undefined when it is the day's last one. */
  async #endOfSlice(snapshot: Transaction<Database>, localDay: string, after: string): Promise<string | undefined> {
    const row = await snapshot
      .selectFrom('usage_events')
      .select('request_id')
      .where('local_day', '=', localDay)
      .where('request_id', '>', after)
      .orderBy('request_id')
      .offset(this.#eventsAtATime - 1)
      .limit(1)
      .executeTakeFirst();
    return row?.request_id;
  }
}

interface Slice {
  readonly localDay: string;
  readonly after: string;
  readonly last: string | undefined;
}

async function recordedSums(snapshot: Kysely<Database>, localDay: string): Promise<readonly DailySum[]> {
  return await snapshot.selectFrom('usage_daily').selectAll().where('local_day', '=', localDay).execute();
}

/** Counts as `dailySums` does. */
async function sumsOfSlice(snapshot: Kysely<Database>, { localDay, after, last }: Slice): Promise<readonly DailySum[]> {
  const answered = sql<number>`case when provider <> '' and outcome <> 'lost' then 1 else 0 end`;
  return await snapshot
    .selectFrom('usage_events')
    .select([
      'token_id',
      'local_day',
      'provider',
      'model',
      sql<number>`cast(sum(${answered}) as bigint)`.as('requests'),
      sql<number>`cast(sum(input_tokens) as bigint)`.as('input_tokens'),
      sql<number>`cast(sum(cached_tokens) as bigint)`.as('cached_tokens'),
      sql<number>`cast(sum(output_tokens) as bigint)`.as('output_tokens'),
    ])
    .where('local_day', '=', localDay)
    .where('request_id', '>', after)
    .$if(last !== undefined, (query) => query.where('request_id', '<=', last ?? ''))
    .groupBy(['token_id', 'local_day', 'provider', 'model'])
    .execute();
}
