import { rename, rm } from 'node:fs/promises';
import { asideName } from './journal-names.ts';

/** Removes a segment that is delivered; keeps it aside when something in it could not be read. */
export async function removeSegment(path: string, isDamaged: boolean): Promise<void> {
  if (!isDamaged) return rm(path, { force: true });
  try {
    await rename(path, asideName(path));
  } catch (fault) {
    if (!(fault instanceof Error && 'code' in fault && fault.code === 'ENOENT')) throw fault;
  }
}
