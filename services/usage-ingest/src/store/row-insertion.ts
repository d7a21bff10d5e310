import type { Database } from '@gateway/database';
import { CompiledQuery, type Kysely } from 'kysely';
import type { Columns } from './ledger-columns.ts';

export interface RowInsertionOptions<Row> {
  readonly table: keyof Database;
  readonly columns: Columns<Row>;
  /** What follows the rows: on conflict, returning. */
  readonly ending: string;
}

export interface Inserted<Returned> {
  /** How many rows were inserted or changed; 0 for statements that return rows, of which SQLite does not tell it. */
  readonly inserted: number;
  /** What the statements returned. */
  readonly returned: readonly Returned[];
}

/** Rows of the largest statement: a power of two. */
const maxRows = 64;

/**
 * Inserts any number of rows with statements of 64, 32, … 2 and 1 rows. These are few texts, so that SQLite keeps all of
 * them prepared; building and preparing one for each number of rows costs several times what inserting them does.
 */
export class RowInsertion<Row, Returned = never> {
  readonly #options: RowInsertionOptions<Row>;
  readonly #columns: readonly (keyof Row)[];
  readonly #statements = new Map<number, CompiledQuery<Returned>>();

  constructor(options: RowInsertionOptions<Row>) {
    this.#options = options;
    this.#columns = keysOf(options.columns);
  }

  /** The transaction is the caller's. */
  async run(transaction: Kysely<Database>, rows: readonly Row[]): Promise<Inserted<Returned>> {
    const returned: Returned[] = [];
    let inserted = 0;
    let start = 0;
    for (let size = maxRows; start < rows.length; size /= 2) {
      for (; rows.length - start >= size; start += size) {
        const parameters = this.#valuesOf(rows, start, start + size);
        const result = await transaction.executeQuery<Returned>({ ...this.#statement(size), parameters });
        returned.push(...result.rows);
        inserted += Number(result.numAffectedRows ?? 0);
      }
    }
    return { inserted, returned };
  }

  #valuesOf(rows: readonly Row[], start: number, end: number): readonly unknown[] {
    const values: unknown[] = [];
    for (const row of rows.slice(start, end)) {
      for (const column of this.#columns) values.push(row[column]);
    }
    return values;
  }

  #statement(rows: number): CompiledQuery<Returned> {
    const known = this.#statements.get(rows);
    if (known !== undefined) return known;
    const { table, ending } = this.#options;
    const row = `(${this.#columns.map(() => '?').join(', ')})`;
    const text = `insert into ${table} (${this.#columns.join(', ')}) values ${Array(rows).fill(row).join(', ')} ${ending}`;
    const statement: CompiledQuery<Returned> = CompiledQuery.raw(text);
    this.#statements.set(rows, statement);
    return statement;
  }
}

/** The names that the type says are there. */
function keysOf<Row>(columns: Columns<Row>): readonly (keyof Row)[] {
  const names: (keyof Row)[] = [];
  for (const name in columns) names.push(name);
  return names;
}
