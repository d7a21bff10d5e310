import { chmodSync, closeSync, openSync, statSync } from 'node:fs';

/**
 * Makes a file that only this process's user can read, or takes the rights of others from one that is there. A file that is
 * there is not opened: closing it would take the locks away that SQLite has on it in this process.
 */
export function makePrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'ax', 0o600));
  } catch (thrown) {
    if (codeOf(thrown) !== 'EEXIST') throw thrown;
    narrowMode(path);
  }
}

/**
 * The same of a SQLite database. SQLite gives the files beside it the mode of the database; those that a process left there
 * keep theirs.
 */
export function makePrivateDatabase(path: string): void {
  makePrivateFile(path);
  for (const end of ['-wal', '-shm']) narrowMode(`${path}${end}`);
}

/** Takes the rights of others from a file or folder, if it is there. */
export function narrowMode(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined || (found.mode & rightsOfOthers) === 0) return;
  try {
    chmodSync(path, found.mode & 0o7777 & ~rightsOfOthers);
  } catch (thrown) {
    // It belongs to another user, who gave this one access on purpose.
    if (codeOf(thrown) !== 'EPERM') throw thrown;
  }
}

const rightsOfOthers = 0o077;

function codeOf(thrown: unknown): unknown {
  return thrown instanceof Error && 'code' in thrown ? thrown.code : undefined;
}
