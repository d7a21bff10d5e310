import { writeSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { lockFile } from './lock-file.ts';

/** What the journal asks of the disk that it writes to. */
export interface JournalDisk {
  /** Makes a file that is only ever appended to. Fails when there is one already. */
  createFile(path: string): Promise<AppendOnlyFile>;
  /** Locks a file, which is made if need be, for as long as this process lives; undefined when another one has it. */
  lockFile(path: string): Disposable | undefined;
}

export interface AppendOnlyFile {
  /** Resolves when the operating system has the bytes: from then on they survive the death of this process. */
  append(bytes: Uint8Array): Promise<void>;
  /** The same, but nothing else happens in this process meanwhile. Not while another call is under way. */
  appendAtOnce(bytes: Uint8Array): void;
  /** Resolves when what was appended survives the loss of power. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

export const localDisk: JournalDisk = { createFile, lockFile };

async function createFile(path: string): Promise<AppendOnlyFile> {
  const file = await open(path, 'ax', 0o600);
  let nameSynced = false;
  return {
    append: (bytes) => appendAll(file, bytes),
    appendAtOnce: (bytes) => appendAllAtOnce(file, bytes),
    sync: async () => {
      await file.datasync();
      if (!nameSynced) await syncFolder(dirname(path));
      nameSynced = true;
    },
    close: () => file.close(),
  };
}

/** Some systems write less than they were given: on a disk that fills up, when they are interrupted. */
async function appendAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at)).bytesWritten;
}

function appendAllAtOnce(file: FileHandle, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(file.fd, bytes, at);
}

/** The names in a folder are written apart from the files. */
async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, 'r');
  await folder.sync();
}
