import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { type GatewayDatabase, migrate } from '@gateway/database';
import { openPostgres } from '@gateway/database/postgres';
import { openSqlite } from '@gateway/database/sqlite';
import {
  RequestEnding,
  type RequestRecorded,
  RequestRecordedSchema,
} from '@gateway/proto/usage/v1/request_recorded_pb.js';
import {
  type ListRequestsResponse,
  RequestFilter,
  type RequestSearchSchema,
  UsageReportService,
} from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { UsageIngestService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { type Client, directClientOf } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { startPostgres } from '@gateway/testkit';
import { localDayOf } from '@gateway/time';
import { createUsageIngestService } from '@gateway/usage-ingest/service';
import { createUsageQueryService } from '@gateway/usage-query/service';
import { sql } from 'kysely';

/*
 * How fast the request log is written and searched, on Postgres and on SQLite, both committing to
 * disk.
 *
 *   npm run bench -- request-log [--requests 1000000] [--engines postgres,sqlite]
 */
const { values } = parseArgs({
  args: process.argv.slice(3),
  options: {
    requests: { type: 'string', default: '1000000' },
    engines: { type: 'string', default: 'postgres,sqlite' },
  },
});
const requestCount = Number(values.requests);
/** Over six days, so that several partitions have entries. */
const spanMs = 6 * 86_400_000;
const firstMs = Date.now() - spanMs;
const runtime = { logger: createLogger('bench', 'warn'), metrics: new Metrics() };

type Search = MessageInitShape<typeof RequestSearchSchema>;

/**
 * Searches of operators: for frequent, rare and missing values, and for a combination that does not
 * occur.
 */
const searches: readonly (readonly [string, Search])[] = [
  ['everything', {}],
  ['a token with a 200th of the requests', { tokenIds: [tokenOf(7)] }],
  ['a token with ten requests', { tokenIds: ['rare'] }],
  ['three tokens', { tokenIds: [tokenOf(7), 'rare', 'nobody'] }],
  ['a token without requests', { tokenIds: ['nobody'] }],
  ['failed', { filter: RequestFilter.FAILED }],
  ['failed, of a token without failures', { filter: RequestFilter.FAILED, tokenIds: ['rare'] }],
  ['slow, of an account', { filter: RequestFilter.SLOW, accountId: 'responses/team-1' }],
  ['status 5xx', { status: 500 }],
  ['status 418, which none has', { status: 418 }],
  ['a model that a quarter asked for', { model: 'model-1' }],
  ['a model of a hundred thousandth', { model: 'rare-model' }],
  ['a model that none asked for', { model: 'nothing' }],
  ['an account with a third', { accountId: 'responses/team-1' }],
  ['an account that none had', { accountId: 'responses/nobody' }],
  ['an endpoint', { endpoint: '/v1/messages' }],
  ['an endpoint without requests', { endpoint: '/v1/nothing' }],
  ['the beginning of a request id', { requestId: idAt(firstMs + spanMs / 2, 0).slice(0, 10) }],
  ['an id that one client sent', { requestId: 'client-17' }],
  ['an id that none sent', { requestId: 'nothing' }],
  ['an hour, five days ago', { sinceMs: firstMs + 86_400_000, untilMs: firstMs + 90_000_000 }],
  [
    'an account that none had, of a token, with 200',
    { accountId: 'responses/nobody', tokenIds: [tokenOf(7)], status: 200 },
  ],
];

for (const engine of values.engines.split(',')) {
  await using stack = new AsyncDisposableStack();
  const database = engine === 'sqlite' ? await sqliteIn(stack) : await postgresIn(stack);
  await migrate(database);
  await fill(engine, database);
  const service = stack.use(createUsageQueryService({ waitMs: 0 }, { database }, runtime));
  const report = directClientOf(service.routes, UsageReportService);
  for (const [name, search] of searches) {
    const first = await pagesOf(report, search, 1);
    const all = await pagesOf(report, search, 200);
    const slowest = Math.max(...all.ms);
    const place = all.ms.indexOf(slowest) + 1;
    const found = `${all.found} requests in ${all.ms.length} pages`;
    print(
      `${engine}: ${name}`,
      `first page ${ms(first.ms[0])}, ${found}, median ${ms(median(all.ms))}, slowest ${ms(slowest)}, the ${place}.`,
    );
  }
}

async function pagesOf(report: Client<typeof UsageReportService>, search: Search, pages: number) {
  const seen = { ms: [] as number[], found: 0 };
  for (let pageToken: string | undefined = ''; pageToken !== undefined && seen.ms.length < pages; ) {
    const startedMs = performance.now();
    const page: ListRequestsResponse = await report.listRequests({ search, pageSize: 50, pageToken });
    seen.ms.push(performance.now() - startedMs);
    seen.found += page.requests.length;
    pageToken = page.nextPageToken || undefined;
  }
  return seen;
}

/** Through the usual path, in batches as they come from the stream. */
async function fill(engine: string, database: GatewayDatabase): Promise<void> {
  const config = { batchEvents: 500, retentionDays: 0, logRetentionDays: 7 };
  await using service = createUsageIngestService(config, { database }, runtime);
  const ingest = directClientOf(service.routes, UsageIngestService);
  const batches = Array.from({ length: Math.ceil(requestCount / 500) }, (_, n) => n).values();
  const startedMs = performance.now();
  const write = async () => {
    for (const n of batches)
      await ingest.record({ requests: Array.from({ length: 500 }, (_, m) => requestOf(n * 500 + m)) });
  };
  await Promise.all(Array.from({ length: 4 }, write));
  const pace = requestCount / ((performance.now() - startedMs) / 1_000);
  // As Postgres does automatically, a minute later.
  if (engine === 'postgres') await sql`analyze request_log`.execute(database);
  print(`${engine}: written, batches of 500, four at a time`, `${pace.toFixed(0)} entries/s`);
}

function requestOf(n: number): RequestRecorded {
  const atMs = firstMs + Math.floor((n / requestCount) * spanMs);
  const isFailed = n % 97 === 0;
  const attempts = Array.from({ length: n % 31 === 0 ? 2 : 1 }, (_, attempt) => ({
    pool: 'responses',
    accountId: `responses/team-${(n + attempt) % 3}`,
    model: `provider-model-${n % 4}`,
    reason: 'because no account has more spare capacity',
    asked: 1.25,
    acquired: 1.5,
    firstByte: 340.25,
    ended: 2_100.75,
    upstreamStatus: isFailed ? 503 : 200,
    usage: { inputTokens: n % 9_000, outputTokens: n % 900 },
  }));
  return create(RequestRecordedSchema, {
    requestId: idAt(atMs, n),
    receivedAtMs: atMs,
    admittedAtMs: atMs,
    localDay: localDayOf(atMs),
    tokenId: n % 100_000 === 5 ? 'rare' : tokenOf(n * 7),
    endpoint: n % 2 === 0 ? '/v1/chat/completions' : '/v1/messages',
    model: n % 100_000 === 3 ? 'rare-model' : `model-${n % 4}`,
    attempts,
    ending: isFailed ? RequestEnding.FAILED : RequestEnding.COMPLETED,
    status: isFailed ? 503 : 200,
    times: { admitted: 0.5, bodyRead: 0.75, firstAttempt: 1.5, firstByte: 340.25, ended: 2_100.75 },
    slow: n % 211 === 0,
    clientRequestId: n % 10 === 0 ? `client-${n}` : '',
  });
}

function tokenOf(n: number): string {
  return `01a205af-3cfd-7cc1-9fd7-${String(n % 200).padStart(12, '0')}`;
}

/** @see RFC 9562, UUID version 7 */
function idAt(atMs: number, n: number): string {
  const digits = atMs.toString(16).padStart(12, '0');
  return `${digits.slice(0, 8)}-${digits.slice(8)}-7000-8000-${n.toString(16).padStart(12, '0')}`;
}

async function sqliteIn(stack: AsyncDisposableStack): Promise<GatewayDatabase> {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-bench-'));
  stack.defer(() => rm(folder, { recursive: true }));
  return stack.use(openSqlite(join(folder, 'gateway.sqlite'), { checkpointMs: 1_000 }));
}

async function postgresIn(stack: AsyncDisposableStack): Promise<GatewayDatabase> {
  const server = stack.use(await startPostgres({ durable: true }));
  // Writing a million entries keeps a machine busy.
  return stack.use(openPostgres(server.url, { statementTimeoutMs: 600_000 }));
}

function median(all: readonly number[]): number {
  return all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0;
}

function ms(duration = 0): string {
  return `${duration.toFixed(0)} ms`;
}

function print(what: string, figure: string): void {
  process.stdout.write(`${what.padEnd(62)}  ${figure}\n`);
}
