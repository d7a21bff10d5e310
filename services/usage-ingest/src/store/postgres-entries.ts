import { type Database, firstKeptDayQuery } from '@gateway/database';
import { CompiledQuery, type Kysely } from 'kysely';
import type { DailySum } from '../recording/daily-sums.ts';
import type { LedgerEntry } from '../recording/ledger-entry.ts';
import type { AddedRows, EntryStatements } from './add-entries.ts';
import { addedToSums, type Columns, eventColumns, namesOf, onceEach, sumColumns } from './ledger-columns.ts';

/** A batch is one statement, and so one round trip and a transaction by itself. Its rows travel as one JSON text. */
export const postgresEntries: EntryStatements = {
  async add(database: Kysely<Database>, entries: readonly LedgerEntry[]): Promise<AddedRows> {
    const { rows } = await database.executeQuery<AddedRow>(CompiledQuery.raw(addStatement, [JSON.stringify(entries)]));
    const [row] = rows;
    if (row === undefined) throw new Error('the database does not say what it has added');
    return { fresh: row.fresh, firstKept: row.first_kept };
  },

  async addSums(database: Kysely<Database>, sums: readonly DailySum[]): Promise<void> {
    if (sums.length === 0) return;
    await database.executeQuery(CompiledQuery.raw(addSumsStatement, [JSON.stringify(sums)]));
  },
};

interface AddedRow {
  readonly fresh: number;
  readonly first_kept: string;
}

/** Rows of the JSON text that is the statement's parameter. */
function givenRows<Row>(name: string, columns: Columns<Row>): string {
  const types = Object.entries(columns).map(([column, type]) => `${column} ${type}`);
  return `json_to_recordset($1::json) as ${name}(${types.join(', ')})`;
}

/**
 * Sums are counted as `dailySums` does. Rows are written in the order of their keys, compared as bytes: every writer
 * locks them in this order, so that two of them can't wait for each other.
 */
const addStatement = `
  with kept as (
    select coalesce((${firstKeptDayQuery}), '') as first_kept
  ), fresh as (
    insert into usage_events (${namesOf(eventColumns)})
    select ${Object.keys(eventColumns)
      .map((column) => `entry.${column}`)
      .join(', ')}
    from ${givenRows('entry', eventColumns)}, kept
    where entry.local_day >= kept.first_kept collate "C"
    order by entry.local_day collate "C", entry.request_id collate "C"
    ${onceEach}
    returning token_id, local_day, provider, model, outcome, input_tokens, cached_tokens, output_tokens
  ), summed as (
    select token_id, local_day, provider, model,
           count(*) filter (where provider <> '' and outcome <> 'lost') as requests,
           sum(input_tokens) as input_tokens, sum(cached_tokens) as cached_tokens, sum(output_tokens) as output_tokens
    from fresh
    group by token_id, local_day, provider, model
  ), counted as (
    insert into usage_daily (${namesOf(sumColumns)})
    select ${namesOf(sumColumns)} from summed
    where requests + input_tokens + cached_tokens + output_tokens > 0
    order by token_id collate "C", local_day collate "C", provider collate "C", model collate "C"
    ${addedToSums}
  )
  select (select count(*) from fresh) as fresh, first_kept from kept`;

const addSumsStatement = `
  insert into usage_daily (${namesOf(sumColumns)})
  select ${namesOf(sumColumns)} from ${givenRows('sum', sumColumns)}
  ${addedToSums}`;
