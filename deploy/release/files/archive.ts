import { globSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';

/** A file of an archive. */
export interface ArchiveEntry {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly executable?: boolean;
}

/** The files below a folder, named with a prefix. Links and hidden files are not included. */
export function entriesIn(folder: string, prefix: string): readonly ArchiveEntry[] {
  return globSync('**/*', { cwd: folder, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .map((file) => ({ ...entryOf(file), name: join(prefix, file.slice(folder.length)) }));
}

/** One file, with a name of its own. */
export function entryOf(file: string, name: string = file): ArchiveEntry {
  return { name, bytes: readFileSync(file), executable: (statSync(file).mode & 0o100) !== 0 };
}

/**
 * Writes a .tgz whose bytes depend only on its entries and its time: sorted, owned by 0:0, with the
 * same modes under every umask.
 */
export async function writeArchive(file: string, entries: readonly ArchiveEntry[], time: Date): Promise<void> {
  const archive = pack();
  const packed = buffer(archive);
  for (const { name, bytes, executable = false } of entries.toSorted(byName)) {
    const mode = executable ? 0o755 : 0o644;
    archive.entry({ name, mode, mtime: time, uid: 0, gid: 0, uname: '', gname: '' }, bytes);
  }
  archive.finalize();
  const zipped = gzipSync(await packed, { level: 9 });
  zipped[placeOfSystem] = unknownSystem;
  writeFileSync(file, zipped);
  // Helm writes the time of a chart's file into its manifest in a registry.
  utimesSync(file, time, time);
}

/** zlib writes the operating system into the header of gzip (RFC 1952). */
const placeOfSystem = 9;
const unknownSystem = 255;

/** By code points: the order of a locale differs between machines. */
function byName(one: ArchiveEntry, other: ArchiveEntry): number {
  return Buffer.compare(Buffer.from(one.name), Buffer.from(other.name));
}
