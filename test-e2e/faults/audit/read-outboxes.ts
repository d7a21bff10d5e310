import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fromBinary } from '@bufbuild/protobuf';
import { UsageRecordedSchema } from '@gateway/proto/usage/v1/usage_recorded_pb.js';

/** A row of an edge's outbox: a request that it owes the ledger. */
export interface OutboxRow {
  readonly kind: 'open' | 'final';
  readonly requestId: string;
  readonly tokenId: string;
  readonly admittedAtMs: number | undefined;
  readonly file: string;
}

/** All current rows of the edges' outboxes. */
export async function readOutboxes(dataFolders: readonly string[]): Promise<readonly OutboxRow[]> {
  return (await Promise.all(dataFolders.map((folder) => readFolder(join(folder, 'outbox'))))).flat();
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
    const rows = database.prepare("SELECT kind, event FROM rows WHERE kind <> 'log'");
    return rows.all().map(({ kind, event }) => {
      const { requestId, tokenId, admittedAtMs } = fromBinary(UsageRecordedSchema, event as Uint8Array);
      return { kind: kind === 'open' ? 'open' : 'final', requestId, tokenId, admittedAtMs, file };
    });
  } finally {
    database.close();
  }
}

function ignoreMissing(thrown: unknown): undefined {
  if (!(thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT')) throw thrown;
}
