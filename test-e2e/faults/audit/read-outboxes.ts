import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fromBinary } from '@bufbuild/protobuf';
import type { Usage } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { type RequestRecorded, RequestRecordedSchema } from '@gateway/proto/usage/v1/request_recorded_pb.js';

/** A row that an edge owes the ledger, by its outbox. */
export interface OutboxRow {
  readonly kind: 'open' | 'final';
  readonly requestId: string;
  readonly tokenId: string;
  readonly admittedAtMs: number | undefined;
  readonly file: string;
}

export interface UsageRow {
  readonly requestId: string;
  readonly tokens: number;
}

/** All rows that the edges' outboxes have for the ledger now. */
export async function readOutboxes(dataFolders: readonly string[]): Promise<readonly OutboxRow[]> {
  return (await Promise.all(dataFolders.map((folder) => readFolder(join(folder, 'outbox'))))).flat();
}

/** The rows of the ledger that a record stands for, one of each attempt with usage. */
export function ledgerRowsOf({ requestId, attempts }: RequestRecorded): readonly UsageRow[] {
  return attempts.flatMap(({ usage }, index) => {
    if (usage === undefined) return [];
    const isLast = index === attempts.length - 1;
    return { requestId: isLast ? requestId : `${requestId}/${index + 1}`, tokens: tokensOf(usage) };
  });
}

async function readFolder(folder: string): Promise<readonly OutboxRow[]> {
  const names = (await readdir(folder)).filter((name) => /\.sqlite(\.damaged)?$/.test(name));
  return (await Promise.all(names.map((name) => readCopy(folder, name)))).flat();
}

/**
 * Reads a copy: a living edge keeps its file locked. Throws if the edge wrote too much meanwhile.
 */
async function readCopy(folder: string, name: string): Promise<readonly OutboxRow[]> {
  const copies = await mkdtemp(join(tmpdir(), 'outbox-copy-'));
  const copy = join(copies, 'copy.sqlite');
  try {
    // A file may disappear before it is copied. The write-ahead log is missing if the database
    // contains everything.
    const log = name.replace('.sqlite', '.sqlite-wal');
    await copyFile(join(folder, log), `${copy}-wal`).catch(ignoreMissing);
    const isThere = await copyFile(join(folder, name), copy).then(() => true, ignoreMissing);
    return isThere ? rowsOf(copy, name) : [];
  } finally {
    await rm(copies, { recursive: true });
  }
}

function rowsOf(path: string, file: string): readonly OutboxRow[] {
  const database = new DatabaseSync(path);
  try {
    const rows = database.prepare('SELECT kind, record FROM rows');
    return rows.all().flatMap(({ kind, record: bytes }) => {
      const record = fromBinary(RequestRecordedSchema, bytes as Uint8Array);
      const { tokenId, admittedAtMs } = record;
      const of = { kind: kind === 'open' ? 'open' : 'final', tokenId, admittedAtMs, file } as const;
      return ledgerRowsOf(record).map(({ requestId }) => ({ requestId, ...of }));
    });
  } finally {
    database.close();
  }
}

function tokensOf({ inputTokens, outputTokens }: Usage): number {
  return inputTokens + outputTokens;
}

function ignoreMissing(thrown: unknown): undefined {
  if (!(thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT')) throw thrown;
}
