import { access, constants, glob } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { type ProgramKind, programNames } from './backend-kind.ts';
import type { Programs } from './find-programs.ts';

/** The folder on PATH, or where packages put Postgres, with every program of a kind. */
export async function installedPrograms(
  kind: ProgramKind,
  env: NodeJS.ProcessEnv = process.env,
): Promise<Programs | undefined> {
  const onPath = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  const folders = kind === 'postgres' ? [...onPath, ...(await postgresFolders())] : onPath;
  for (const folder of folders) {
    if (await holdsAll(folder, programNames[kind])) return { folder, libraryFolders: [] };
  }
  return undefined;
}

export async function holdsAll(folder: string, programs: readonly string[]): Promise<boolean> {
  try {
    await Promise.all(programs.map((program) => access(join(folder, program), constants.X_OK)));
    return true;
  } catch {
    return false;
  }
}

/** Debian and Red Hat keep the server's programs off PATH, one folder per version. Newest first. */
async function postgresFolders(): Promise<readonly string[]> {
  const folders = await Array.fromAsync(glob(['/usr/lib/postgresql/*/bin', '/usr/pgsql-*/bin']));
  return folders.toSorted((a, b) => b.localeCompare(a, 'en', { numeric: true }));
}
