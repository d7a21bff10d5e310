import { DatabaseSync } from 'node:sqlite';
import { makePrivateFile } from '@gateway/config';

const sqliteBusy = 5;

/**
 * Locks a file, which is made if need be; undefined when another process, or another part of this one, has it. The
 * operating system frees it when its owner dies, however that happens, and never while its owner is merely slow. Node
 * has no file locks of its own: this is the one that SQLite puts on an empty database.
 */
export function lockFile(path: string): Disposable | undefined {
  makePrivateFile(path);
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    // Nothing is ever written, yet without this a file for rolling it back would be made beside this one.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE;');
    return { [Symbol.dispose]: () => database.close() };
  } catch (fault) {
    database.close();
    if (fault instanceof Error && 'errcode' in fault && fault.errcode === sqliteBusy) return undefined;
    throw fault;
  }
}
