import { access, constants, glob } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

/** Where a kind's programs are. */
export interface Programs {
  readonly folder: string;
  /** Folders of shared libraries that came with the programs, for LD_LIBRARY_PATH. */
  readonly libraryFolders: readonly string[];
}

/** The servers that the gateway's services keep their state in. */
export type BackendKind = 'redis' | 'nats' | 'postgres';

export const backendKinds: readonly BackendKind[] = ['redis', 'nats', 'postgres'];

/** The variable that names a server which is already there. */
export const urlVariable: Record<BackendKind, string> = {
  redis: 'REDIS_URL',
  nats: 'NATS_URL',
  postgres: 'DATABASE_URL',
};

/** Servers that can be had as programs: those, and what operators put in front of them. */
export type ProgramKind = BackendKind | 'pgbouncer';

/** The programs that a kind needs, all from one folder. The first one is the server. */
export const programNames: Record<ProgramKind, readonly string[]> = {
  redis: ['redis-server'],
  nats: ['nats-server'],
  postgres: ['postgres', 'initdb'],
  pgbouncer: ['pgbouncer'],
};

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
