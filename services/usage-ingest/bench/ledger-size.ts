import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { eventDaysOf, type GatewayDatabase } from '@gateway/database';
import { migratePostgres, openPostgres } from '@gateway/database/postgres';
import { UsageGrouping, UsageLedgerService } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { Outcome, type UsageRecorded, UsageRecordedSchema } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { UsageIngestService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { directClientOf } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { startPostgres } from '@gateway/testkit';
import { addLocalDays, type LocalDay, localDayOf } from '@gateway/time';
import { createUsageIngestService } from '../src/service.ts';
import { fillLedger, type LedgerShape } from './fill-ledger.ts';
import { cpuSeconds, medianMs, sizeOf, updatesOf, walBytes } from './measurements.ts';
import { startUsageQuery } from './usage-query-process.ts';

/*
 * What the ledger costs, on a Postgres of its own that commits to disk: size, ingest, queries, removal of a day.
 * npm run bench:ledger -- [--requests-per-day 100000] [--days 30] [--tokens 500] [--models 4] [--ingest 200000]
 */
const { values } = parseArgs({
  options: {
    'requests-per-day': { type: 'string', default: '100000' },
    days: { type: 'string', default: '30' },
    tokens: { type: 'string', default: '500' },
    models: { type: 'string', default: '4' },
    ingest: { type: 'string', default: '200000' },
  },
});

const today = localDayOf(Date.now());
const shape: LedgerShape = {
  days: Array.from({ length: Number(values.days) }, (_, index) => addLocalDays(today, index - Number(values.days) + 1)),
  requestsPerDay: Number(values['requests-per-day']),
  tokens: Number(values.tokens),
  models: Number(values.models),
};

await using server = await startPostgres({ durable: true });
await migratePostgres(server.url);
await using database = openPostgres(server.url, { statementTimeoutMs: 600_000 });
await using bounded = openPostgres(server.url);
await measureSize();
await measureIngest('batches of 500, four at a time', Number(values.ingest), 500, 4);
await measureIngest('one by one, one at a time', 2_000, 1, 1);
await measureUpdates();
await measureQueries();
await measureReconciliation();
await measureRemoval();

async function measureSize(): Promise<void> {
  const startedMs = performance.now();
  await fillLedger(database, shape, (day) => note(`filled ${day}`));
  note(`filled in ${seconds(performance.now() - startedMs)}`);
  for (const table of ['usage_events', 'usage_daily'] as const) {
    const { rows, tableBytes, indexBytes } = await sizeOf(database, table);
    const perRow = `${(tableBytes / rows).toFixed(0)} bytes a row + ${(indexBytes / rows).toFixed(0)} of indexes`;
    print(`${table}: ${rows} rows`, `${perRow}, ${mebibytes(tableBytes + indexBytes)}`);
  }
}

async function measureIngest(how: string, count: number, batch: number, writers: number): Promise<void> {
  const runtime = { logger: createLogger('bench', 'warn'), metrics: new Metrics() };
  const config = { batchEvents: 500, retentionDays: 0, logRetentionDays: 7 };
  const service = createUsageIngestService(config, { database: bounded }, runtime);
  const ingest = directClientOf(service.routes, UsageIngestService);
  let left = count;
  const write = async () => {
    while (left > 0) {
      const size = Math.min(batch, left);
      left -= size;
      await ingest.record({ events: Array.from({ length: size }, newEvent) });
    }
  };
  const before = {
    ms: performance.now(),
    cpu: cpuSeconds(server.pid),
    own: process.cpuUsage(),
    wal: await walBytes(database),
  };
  await Promise.all(Array.from({ length: writers }, write));
  const elapsedMs = performance.now() - before.ms;
  const own = process.cpuUsage(before.own);
  const postgres = (cpuSeconds(server.pid) ?? Number.NaN) - (before.cpu ?? Number.NaN);
  const wal = ((await walBytes(database)) - before.wal) / count;
  print(
    `ingest of ${count} events, ${how}`,
    `${((count / elapsedMs) * 1_000).toFixed(0)} events/s, ${((postgres * 1e6) / count).toFixed(0)} µs of Postgres' CPU and ${((own.user + own.system) / count).toFixed(0)} µs of ingest's an event, ${wal.toFixed(0)} bytes of WAL an event`,
  );
}

/** Sums of today are changed all day: changes in place need no work on the indexes. */
async function measureUpdates(): Promise<void> {
  const { inPlace, bytes } = await updatesOf(database, 'usage_daily');
  print('usage_daily after that', `${(inPlace * 100).toFixed(0)} % of changes in place, ${mebibytes(bytes)}`);
}

async function measureQueries(): Promise<void> {
  await using queries = await startUsageQuery(server.url);
  const { query, report } = queries;
  const ids = await someRequests(database, 10_000);
  const [first] = ids;
  const tokenId = first?.token_id ?? '';
  const requestIds = ids.map(({ request_id }) => request_id);
  const day = { tokenId, localDay: today };
  const month = { firstDay: addLocalDays(today, -19), lastDay: today };
  const measured: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['GetUsage', () => query.getUsage({ tokenId })],
    ['GetDayTotal', () => query.getDayTotal(day)],
    ['GetDayTotal, of 100 requests', () => query.getDayTotal({ ...day, requestIds: requestIds.slice(0, 100) })],
    ['GetDayTotal, of 10000 requests', () => query.getDayTotal({ ...day, requestIds })],
    ['ReportUsage of 20 days, by day', () => report.reportUsage({ ...month, grouping: UsageGrouping.DAY })],
    ['ReportUsage of 20 days, by model', () => report.reportUsage({ ...month, grouping: UsageGrouping.MODEL })],
    [
      'ReportUsage of 20 days, by token, first page',
      () => report.reportUsage({ ...month, grouping: UsageGrouping.TOKEN }),
    ],
  ];
  for (const [name, call] of measured) print(name, `${(await medianMs(15, call)).toFixed(1)} ms`);
}

async function measureReconciliation(): Promise<void> {
  const runtime = { logger: createLogger('bench', 'warn'), metrics: new Metrics() };
  const { routes } = createUsageIngestService(
    { batchEvents: 500, retentionDays: 0, logRetentionDays: 7 },
    { database: bounded },
    runtime,
  );
  const ledger = directClientOf(routes, UsageLedgerService);
  const localDay = shape.days.at(-2) ?? today;
  const check = async () => {
    const { differenceCount } = await ledger.reconcileDay({ localDay });
    if (differenceCount > 0) throw new Error(`${differenceCount} differences on ${localDay}`);
  };
  print(`ReconcileDay of ${shape.requestsPerDay} events`, `${(await medianMs(3, check)).toFixed(0)} ms`);
}

async function measureRemoval(): Promise<void> {
  const days = eventDaysOf(bounded);
  const { signal } = new AbortController();
  const durations: number[] = [];
  for (const day of shape.days.slice(1, 6)) {
    const startedMs = performance.now();
    await days.removeBefore(day, signal);
    durations.push(performance.now() - startedMs);
  }
  print('removal of a day', `${durations.map((ms) => ms.toFixed(0)).join(', ')} ms`);
}

async function someRequests(from: GatewayDatabase, count: number) {
  const { token_id } = await from
    .selectFrom('usage_events')
    .select('token_id')
    .where('local_day', '=', today)
    .limit(1)
    .executeTakeFirstOrThrow();
  return await from
    .selectFrom('usage_events')
    .select(['request_id', 'token_id'])
    .where('local_day', '=', today)
    .orderBy(({ case: when }) => when().when('token_id', '=', token_id).then(0).else(1).end())
    .limit(count)
    .execute();
}

function newEvent(): UsageRecorded {
  const nowMs = Date.now();
  const random = randomBytes(10).toString('hex');
  const time = nowMs.toString(16).padStart(12, '0');
  const number = Number.parseInt(random.slice(0, 8), 16);
  return create(UsageRecordedSchema, {
    requestId: `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(0, 3)}-a${random.slice(3, 6)}-${random.slice(6, 18)}`,
    tokenId: `token-00000000-0000-0000-0000-${String(number % shape.tokens).padStart(12, '0')}`,
    admittedAt: timestampFromMs(nowMs),
    localDay: today satisfies LocalDay,
    endpoint: '/v1/chat/completions',
    provider: number % 2 === 0 ? 'provider_a' : 'provider_b',
    model: `model-with-a-name-${number % shape.models}`,
    inputTokens: BigInt(1_000 + (number % 9_000)),
    cachedTokens: BigInt(number % 1_000),
    outputTokens: BigInt(100 + (number % 900)),
    outcome: Outcome.COMPLETED,
  });
}

function print(what: string, figure: string): void {
  process.stdout.write(`${what.padEnd(52)}  ${figure}\n`);
}

function note(text: string): void {
  process.stderr.write(`${text}\n`);
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

function mebibytes(bytes: number): string {
  return `${(bytes / 1_048_576).toFixed(0)} MiB in all`;
}
