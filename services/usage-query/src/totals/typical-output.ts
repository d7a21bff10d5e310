import type { GatewayDatabase } from '@gateway/database';
import { addLocalDays, epochMs, isWithin, type LocalDay, localDayOf } from '@gateway/time';
import { sql } from 'kysely';

interface ModelOutput {
  readonly model: string;
  readonly outputTokens: number;
  readonly inputTokens: number;
}

interface TypicalRow {
  readonly model: string;
  readonly output_tokens: number;
  readonly input_tokens: number;
}

interface Reading {
  readonly day: LocalDay;
  readonly readAtMs: number;
  readonly models: Promise<readonly ModelOutput[]>;
}

const freshMs = 3_600_000;
/** A day's last requests are as typical as all of them, and reading them takes a second at most. */
const maxEvents = 200_000;
const share = 0.95;

/**
 * How many tokens nearly every request and answer of a model stays below, by the last full local
 * day. It is read once an hour at most, for all callers together.
 */
export class TypicalOutput {
  readonly #database: GatewayDatabase;
  #last: Reading | undefined;

  constructor(database: GatewayDatabase) {
    this.#database = database;
  }

  read(): Promise<readonly ModelOutput[]> {
    const nowMs = epochMs();
    const day = addLocalDays(localDayOf(nowMs), -1);
    const last = this.#last;
    if (last !== undefined && last.day === day && isWithin(freshMs, last.readAtMs, nowMs)) return last.models;
    const reading: Reading = { day, readAtMs: nowMs, models: this.#readDay(day) };
    this.#last = reading;
    // A failure is not kept, so that the next caller asks again.
    reading.models.catch(() => {
      if (this.#last === reading) this.#last = undefined;
    });
    return reading.models;
  }

  async #readDay(day: LocalDay): Promise<readonly ModelOutput[]> {
    const { rows } = await sql<TypicalRow>`
      select model,
        min(case when output_share >= ${sql.lit(share)} then output_tokens end) as output_tokens,
        min(case when input_share >= ${sql.lit(share)} then input_tokens end) as input_tokens
      from (
        select model, output_tokens, input_tokens,
          cume_dist() over (partition by model order by output_tokens) as output_share,
          cume_dist() over (partition by model order by input_tokens) as input_share
        from (
          select model, output_tokens, input_tokens from usage_events
          where local_day = ${day} and outcome = 'completed'
          order by request_id desc limit ${sql.lit(maxEvents)}
        ) as latest
      ) as ranked
      group by model order by model`.execute(this.#database);
    return rows.map(({ model, output_tokens, input_tokens }) => ({
      ...{ model, outputTokens: output_tokens, inputTokens: input_tokens },
    }));
  }
}
