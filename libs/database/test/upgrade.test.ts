import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createTestDatabase } from '@gateway/testkit';
import { sql } from 'kysely';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { type GatewayDatabase, migrate, pendingMigrations } from '../src/index.ts';
import * as migrations from '../src/migrations/index.ts';
import { openPostgres } from '../src/postgres/open-postgres.ts';
import { openSqlite } from '../src/sqlite/open-sqlite.ts';

// Databases of earlier releases, written by deploy/release/schema-fixture.ts at each release.
const fixtures = join(import.meta.dirname, '__fixtures__');
const releases = readdirSync(fixtures).toSorted();

/** An empty database, and a function that runs several statements on it. */
interface EmptyDatabase {
  readonly database: GatewayDatabase;
  readonly run: (statements: string) => Promise<void>;
}

const engines = {
  sqlite: async (stack: AsyncDisposableStack): Promise<EmptyDatabase> => {
    const folder = await mkdtemp(join(tmpdir(), 'gateway-upgrade-'));
    stack.defer(() => rm(folder, { recursive: true }));
    const file = join(folder, 'gateway.sqlite');
    const database = stack.use(openSqlite(file));
    const run = async (statements: string) => {
      using direct = new DatabaseSync(file);
      direct.exec(statements);
    };
    return { database, run };
  },
  postgres: async (stack: AsyncDisposableStack): Promise<EmptyDatabase> => {
    const { url } = stack.use(await createTestDatabase());
    const direct = new pg.Client({ connectionString: url });
    await direct.connect();
    stack.defer(() => direct.end());
    return { database: stack.use(openPostgres(url)), run: async (statements) => void (await direct.query(statements)) };
  },
} as const;

const cases = releases.flatMap((release) =>
  (['sqlite', 'postgres'] as const).map((engine) => ({ release, engine, open: engines[engine] })),
);

describe.each(cases)('a database of $release in $engine', ({ release, engine, open }) => {
  const dump = readFileSync(join(fixtures, release, `${engine}.sql`), 'utf8');

  it('is brought up to date, and keeps every row as it was but those of the request log, which is emptied', async () => {
    await using stack = new AsyncDisposableStack();
    const { database, run } = await open(stack);
    await run(dump);
    const tables = tablesOf(dump);
    const before = await rowsOf(database, tables);
    expect(Object.values(before).flat().length).toBeGreaterThan(15);
    await migrate(database);
    expect(await pendingMigrations(database)).toEqual([]);
    expect(await rowsOf(database, tables)).toMatchObject({ ...before, request_log: [] });
  });

  it('is written and read by that release when the tables are those of this one, except the request log', async () => {
    await using stack = new AsyncDisposableStack();
    const { database, run } = await open(stack);
    await migrate(database);
    // Creates the partitions, as the release does at the first event of a day.
    if (engine === 'postgres') await run(daysOf(dump).map(partitionStatement).join('\n'));
    const statements = dump.match(/^INSERT INTO (?!kysely_|request_log )[\s\S]*?\);$/gm) ?? [];
    await run(statements.join('\n'));
    const counts = Object.values(await rowsOf(database, tablesOf(dump))).map((rows) => rows.length);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(statements.length);
  });
});

describe('migrations since the first release', () => {
  const first = readFileSync(join(fixtures, releases[0] ?? '', 'sqlite.sql'), 'utf8');
  const sourceOf = (name: string) => readFileSync(join(import.meta.dirname, `../src/migrations/${name}.ts`), 'utf8');

  it('only add, except for two that the changelog names: ingest waits for its own release', () => {
    const later = Object.keys(migrations).filter((name) => !first.includes(`'${name}'`));
    expect(later.flatMap((name) => breaking(sourceOf(name)).map((statement) => `${name}: ${statement}`))).toEqual([
      '20261129010000-one-daily-sum: alter table usage_daily rename',
      '20261129010000-one-daily-sum: drop table',
      '20261129020000-new-request-log: drop table',
    ]);
  });

  it('would be found out: the one that did it before the first release is', () => {
    expect(breaking(sourceOf('20261121090000-usage-by-day'))).toEqual(
      ['alter table usage_events rename', 'drop table', 'alter index usage_events_pkey rename'].sort(),
    );
    expect(breaking('alter table a add column b bigint not null`')).toHaveLength(1);
    expect(breaking('alter table a add column b bigint not null default 0`')).toEqual([]);
  });
});

/** Statements that would break a process of the previous release. */
function breaking(source: string): readonly string[] {
  const patterns = [
    /\bdrop\s+(table|column|index|constraint)\b/gi,
    /\balter\s+(table|index)\s+\S+\s+rename\b/gi,
    /\balter\s+column\b/gi,
    /\badd\s+(unique|check|constraint|foreign|primary)\b/gi,
    /\badd\s+column\s+\w+\s+\w+\s+not\s+null(?!\s+default)/gi,
    /\bcreate\s+unique\s+index\b/gi,
  ];
  return patterns.flatMap((pattern) => source.match(pattern) ?? []).sort();
}

function tablesOf(dump: string): readonly string[] {
  const names = [...dump.matchAll(/^INSERT INTO (\w+)/gm)].map(([, name = '']) => name);
  return [...new Set(names)].filter((name) => !name.startsWith('kysely_'));
}

/** All rows, sorted by all columns. */
async function rowsOf(database: GatewayDatabase, tables: readonly string[]): Promise<Record<string, object[]>> {
  const entries = tables.map(async (table): Promise<[string, object[]]> => {
    const { rows } = await sql<object>`select * from ${sql.table(table)}`.execute(database);
    return [table, rows.toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)))];
  });
  return Object.fromEntries(await Promise.all(entries));
}

function daysOf(dump: string): readonly (readonly [table: string, day: string])[] {
  const found = [...dump.matchAll(/ATTACH PARTITION (\w+)_(\d{4})_(\d\d)_(\d\d) /g)];
  return found.map(([, table = '', year, month, day]) => [table, `${year}-${month}-${day}`]);
}

function partitionStatement([table, day]: readonly [string, string]): string {
  return `create table ${table}_${day.replaceAll('-', '_')} partition of ${table} for values in ('${day}');`;
}
