import { type Database, type EventDays, firstKeptDay } from '@gateway/database';
import { type Kysely, sql, type Transaction } from 'kysely';
import { addUp, type DailySum, differenceOf, isNothing, keyOf } from '../recording/ledger-entry.ts';
import { addSums } from './usage-ledger.ts';

/** A daily sum that is not what its events add up to. One that is missing counts as nothing. */
export interface Difference {
  readonly recorded: DailySum;
  readonly counted: DailySum;
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
   *
   * @returns undefined when the day's events are no longer kept.
   */
  async day(localDay: string, { repair }: { readonly repair: boolean }): Promise<readonly Difference[] | undefined> {
    return await this.#days.withLock({
      read: async (snapshot) => {
        if (localDay < (await firstKeptDay(snapshot))) return undefined;
        const recorded = await snapshot
          .selectFrom('usage_daily')
          .selectAll()
          .where('local_day', '=', localDay)
          .execute();
        return differencesOf(recorded, await this.#countedSums(snapshot, localDay));
      },
      change: async (transaction, differences = []) => {
        if (!repair) return;
        await addSums(
          transaction,
          differences.map(({ recorded, counted }) => differenceOf(counted, recorded)),
        );
      },
    });
  }

  /** Counts slice by slice, in the order in which the events are stored. */
  async #countedSums(snapshot: Transaction<Database>, localDay: string): Promise<readonly DailySum[]> {
    const slices: (readonly DailySum[])[] = [];
    let after: string | undefined = '';
    while (after !== undefined) {
      const last: string | undefined = await this.#endOfSlice(snapshot, localDay, after);
      slices.push(await sumsOfSlice(snapshot, localDay, after, last));
      after = last;
    }
    return addUp(slices.flat());
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

/** In the order of their key. */
function differencesOf(recorded: readonly DailySum[], counted: readonly DailySum[]): readonly Difference[] {
  const byKey = [...Map.groupBy([...recorded, ...counted], keyOf)].sort(([a], [b]) => (a < b ? -1 : 1));
  const recordedSums = new Set(recorded);
  return byKey.flatMap(([, [first, second]]) => {
    if (first === undefined) return [];
    const nothing = { ...first, requests: 0, input_tokens: 0, cached_tokens: 0, output_tokens: 0 };
    const [ofRecord, ofCount] = recordedSums.has(first) ? [first, second ?? nothing] : [nothing, first];
    return isNothing(differenceOf(ofCount, ofRecord)) ? [] : { recorded: ofRecord, counted: ofCount };
  });
}

/** Counts as `dailySums` does. `last` is undefined in the last slice. */
async function sumsOfSlice(snapshot: Kysely<Database>, localDay: string, after: string, last: string | undefined) {
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
