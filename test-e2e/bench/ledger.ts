import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { create } from '@bufbuild/protobuf';
import { eventDaysOf } from '@gateway/database';
import { migratePostgres, openPostgres } from '@gateway/database/postgres';
import { RequestEnding, RequestRecordedSchema } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import {
  UsageGrouping,
  UsageLedgerService,
  UsageReportService,
} from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { UsageIngestService, UsageQueryService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { directClientOf } from '@gateway/rpc';
import { openChannel } from '@gateway/rpc/grpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { freePorts, startNats, startPostgres } from '@gateway/testkit';
import { addLocalDays, localDayOf, startOfLocalDayMs } from '@gateway/time';
import { createUsageIngestService } from '@gateway/usage-ingest/service';
import { sql } from 'kysely';
import { Client } from 'pg';

/*
 * What the ledger costs, on a Postgres of its own that commits to disk: size, ingest, queries,
 * removal of a day.
 *
 *   npm run bench -- ledger [--requests-per-day 100000] [--days 30] [--tokens 500]
 *     [--models 4] [--ingest 200000]
 */
const { values } = parseArgs({
  args: process.argv.slice(3),
  options: {
    'requests-per-day': { type: 'string', default: '100000' },
    days: { type: 'string', default: '30' },
    tokens: { type: 'string', default: '500' },
    models: { type: 'string', default: '4' },
    ingest: { type: 'string', default: '200000' },
  },
});
const [requestsPerDay, tokens, models] = [values['requests-per-day'], values.tokens, values.models].map(Number);
const today = localDayOf(Date.now());
const days = Array.from({ length: Number(values.days) }, (_, n) => addLocalDays(today, n - Number(values.days) + 1));

await using server = await startPostgres({ durable: true });
await migratePostgres(server.url);
await using database = openPostgres(server.url, { statementTimeoutMs: 600_000 });
await using bounded = openPostgres(server.url);
const { routes } = createUsageIngestService(
  { batchEvents: 500, retentionDays: 0, logRetentionDays: 7 },
  { database: bounded },
  { logger: createLogger('bench', 'warn'), metrics: new Metrics() },
);
await fillLedger();
await measureSize('usage_events');
await measureSize('usage_daily');
await measureIngest('batches of 500, four at a time', Number(values.ingest), 500, 4);
await measureIngest('one by one, one at a time', 2_000, 1, 1);
await measureUpdates();
await measureQueries();
await measureReconciliation();
await measureRemoval();

/**
 * Fills the tables as ingest would, by SQL. Request ids are UUIDs of version 7: they begin with the
 * time of the request.
 */
async function fillLedger(): Promise<void> {
  await eventDaysOf(database).open(days);
  const stepMs = sql.lit(Math.floor(86_400_000 / (requestsPerDay ?? 1)));
  for (const day of days) {
    await sql`
      insert into usage_events
      select substr(hex, 1, 8) || '-' || substr(hex, 9, 4) || '-7' || substr(hash, 1, 3) || '-a' || substr(hash, 4, 3)
               || '-' || substr(hash, 7, 12),
             'token-' || md5((i::bigint * 7919 % ${sql.lit(tokens)})::text)::uuid, at_ms, ${day}, '/v1/chat/completions',
             case when i % 2 = 0 then 'provider_a' else 'provider_b' end, 'model-with-a-name-' || (i % ${sql.lit(models)}),
             1000 + i % 9000, i % 1000, 100 + i % 900, i % 100, 0, 'completed', 'responses/team-' || (i % 3)
      from (select i, at_ms, lpad(to_hex(at_ms), 12, '0') as hex, md5(${day} || i) as hash
            from (select i, ${sql.lit(startOfLocalDayMs(day))}::bigint + i::bigint * ${stepMs} as at_ms
                  from generate_series(1, ${sql.lit(requestsPerDay)}) as i) as times) as ids`.execute(database);
    await sql`
      insert into usage_daily (token_id, local_day, provider, model, account_id, requests, input_tokens, cached_tokens,
        output_tokens)
      select token_id, local_day, provider, model, account_id, count(*), sum(input_tokens), sum(cached_tokens),
        sum(output_tokens)
      from usage_events where local_day = ${day} group by 1, 2, 3, 4, 5`.execute(database);
    process.stderr.write(`filled ${day}\n`);
  }
  // Unlike the other statements, not in a transaction.
  const direct = new Client({ connectionString: server.url });
  await direct.connect();
  await direct.query('vacuum analyze usage_events, usage_daily');
  await direct.end();
}

async function measureSize(table: string): Promise<void> {
  const { rows, bytes, indexBytes } = await numbers<'rows' | 'bytes' | 'indexBytes'>(sql`
    select (select count(*) from ${sql.table(table)}) as rows, cast(sum(pg_table_size(relid)) as bigint) as bytes,
           cast(sum(pg_indexes_size(relid)) as bigint) as "indexBytes"
    from (select ${table}::regclass as relid union select relid from pg_partition_tree(${table}::regclass)) as parts`);
  const perRow = `${(bytes / rows).toFixed(0)} bytes a row + ${(indexBytes / rows).toFixed(0)} of indexes`;
  print(`${table}: ${rows} rows`, `${perRow}, ${((bytes + indexBytes) / 1_048_576).toFixed(0)} MiB in all`);
}

async function measureIngest(how: string, count: number, batch: number, writers: number): Promise<void> {
  const ingest = directClientOf(routes, UsageIngestService);
  let unsent = count;
  const write = async () => {
    while (unsent > 0) {
      const size = Math.min(batch, unsent);
      unsent -= size;
      await ingest.record({ requests: Array.from({ length: size }, newEvent) });
    }
  };
  const before = { ms: performance.now(), postgres: postgresMicros(), own: process.cpuUsage(), wal: await walBytes() };
  await Promise.all(Array.from({ length: writers }, write));
  const elapsedMs = performance.now() - before.ms;
  const own = process.cpuUsage(before.own);
  const each = [postgresMicros() - before.postgres, own.user + own.system, (await walBytes()) - before.wal];
  const [postgres, ours, wal] = each.map((amount) => (amount / count).toFixed(0));
  const pace = `${((count / elapsedMs) * 1_000).toFixed(0)} events/s`;
  print(
    `ingest of ${count} events, ${how}`,
    `${pace}, ${postgres} µs of Postgres' CPU and ${ours} µs of ingest's an event, ${wal} bytes of WAL an event`,
  );
}

/** Today's sums change all day: in-place updates do not touch the indexes. */
async function measureUpdates(): Promise<void> {
  const { updates, inPlace } = await numbers<'updates' | 'inPlace'>(sql`
    select n_tup_upd as updates, n_tup_hot_upd as "inPlace" from pg_stat_user_tables where relname = 'usage_daily'`);
  print('usage_daily after that', `${((inPlace / updates) * 100).toFixed(0)} % of changes in place`);
}

async function measureQueries(): Promise<void> {
  await using queries = await startUsageQuery();
  const { query, report } = queries;
  const events = database.selectFrom('usage_events').where('local_day', '=', today);
  const { token_id: tokenId } = await events.select('token_id').limit(1).executeTakeFirstOrThrow();
  const ids = await events.select('request_id').orderBy(sql`token_id <> ${tokenId}`).limit(10_000).execute();
  const requestIds = ids.map(({ request_id }) => request_id);
  const day = { tokenId, localDay: today };
  const month = { firstDay: addLocalDays(today, -19), lastDay: today };
  await measure('GetUsage', 15, () => query.getUsage({ tokenId }));
  await measure('GetDayTotal', 15, () => query.getDayTotal(day));
  for (const count of [100, 10_000]) {
    const question = { ...day, requestIds: requestIds.slice(0, count) };
    await measure(`GetDayTotal, of ${count} requests`, 15, () => query.getDayTotal(question));
  }
  for (const grouping of [UsageGrouping.DAY, UsageGrouping.MODEL, UsageGrouping.TOKEN]) {
    const name = `ReportUsage of 20 days by ${UsageGrouping[grouping].toLowerCase()}, first page`;
    await measure(name, 15, () => report.reportUsage({ ...month, grouping }));
  }
}

async function measureReconciliation(): Promise<void> {
  const ledger = directClientOf(routes, UsageLedgerService);
  const localDay = days.at(-2) ?? today;
  await measure(`ReconcileDay of ${requestsPerDay} events`, 3, async () => {
    const { differenceCount } = await ledger.reconcileDay({ localDay });
    if (differenceCount > 0) throw new Error(`${differenceCount} differences on ${localDay}`);
  });
}

async function measureRemoval(): Promise<void> {
  const { signal } = new AbortController();
  for (const day of days.slice(1, 6)) {
    const startedMs = performance.now();
    await eventDaysOf(bounded).removeBefore(day, signal);
    print(`removal of the day before ${day}`, `${(performance.now() - startedMs).toFixed(0)} ms`);
  }
}

/** The median of several calls, after a warm-up call. */
async function measure(name: string, times: number, call: () => Promise<unknown>): Promise<void> {
  const durations: number[] = [];
  for (let n = 0; n <= times; n++) {
    const startedMs = performance.now();
    await call();
    if (n > 0) durations.push(performance.now() - startedMs);
  }
  print(name, `${durations.sort((a, b) => a - b)[Math.floor(times / 2)]?.toFixed(1)} ms`);
}

/** Runs usage-query as a process of its own. */
async function startUsageQuery() {
  await using stack = new AsyncDisposableStack();
  const nats = stack.use(await startNats());
  const [grpcPort, adminPort] = (await freePorts(2)).map(String);
  const url = `http://127.0.0.1:${adminPort}`;
  const main = fileURLToPath(new URL('../../services/usage-query/src/main.ts', import.meta.url));
  const urls = { DATABASE_URL: server.url, NATS_URL: nats.url };
  const env = { ...urls, PATH: process.env.PATH, GRPC_PORT: grpcPort, ADMIN_PORT: adminPort, LOG_LEVEL: 'error' };
  const child = spawn(process.execPath, [main], { env, stdio: 'inherit' });
  stack.defer(async () => {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    await ended;
  });
  const isReady = () =>
    fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await isReady())) await new Promise((resolve) => setTimeout(resolve, 100));
  const channel = stack.use(openChannel(`http://127.0.0.1:${grpcPort}`));
  const started = stack.move();
  return {
    query: channel.client(UsageQueryService),
    report: channel.client(UsageReportService),
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

function newEvent() {
  const [nowMs, random] = [Date.now(), randomBytes(10).toString('hex')];
  const time = nowMs.toString(16).padStart(12, '0');
  const number = Number.parseInt(random.slice(0, 8), 16);
  const attempt = {
    provider: number % 2 === 0 ? 'provider_a' : 'provider_b',
    model: `model-with-a-name-${number % (models ?? 1)}`,
    accountId: `responses/team-${number % 3}`,
    usage: { inputTokens: 1_000 + (number % 9_000), cachedTokens: number % 1_000, outputTokens: 100 + (number % 900) },
  };
  return create(RequestRecordedSchema, {
    requestId: `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(0, 3)}-a${random.slice(3, 6)}-${random.slice(6, 18)}`,
    tokenId: `token-00000000-0000-0000-0000-${String(number % (tokens ?? 1)).padStart(12, '0')}`,
    admittedAtMs: nowMs,
    localDay: today,
    endpoint: '/v1/chat/completions',
    ending: RequestEnding.COMPLETED,
    attempts: [attempt],
  });
}

async function walBytes(): Promise<number> {
  return (await numbers<'bytes'>(sql`select cast(pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') as bigint) as bytes`))
    .bytes;
}

/**
 * Processor time of Postgres and its children, including ended ones, from the accounting of Linux;
 * on other systems not a number.
 */
function postgresMicros(): number {
  if (process.platform !== 'linux' || server.pid === undefined) return Number.NaN;
  const stats = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
        return {
          pid: Number(pid),
          fields: text
            .slice(text.lastIndexOf(')') + 2)
            .split(' ')
            .map(Number),
        };
      } catch {
        return { pid: 0, fields: [] };
      }
    });
  const ofServer = stats.filter(({ pid, fields }) => pid === server.pid || fields[1] === server.pid);
  const ticks = ofServer.flatMap(({ fields }) => fields.slice(11, 15)).reduce((sum, count) => sum + count, 0);
  return ticks * 10_000;
}

async function numbers<K extends string>(query: ReturnType<typeof sql>): Promise<Readonly<Record<K, number>>> {
  const { rows } = await query.execute(database);
  return rows[0] as Readonly<Record<K, number>>;
}

function print(what: string, figure: string): void {
  process.stdout.write(`${what.padEnd(52)}  ${figure}\n`);
}
