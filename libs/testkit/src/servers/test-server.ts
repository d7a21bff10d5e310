import { chown, mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManagedProcess, type ProcessControl, type ProcessPlan } from '../processes/managed-process.ts';
import { ProcessReaper } from '../processes/process-reaper.ts';
import { findPrograms } from '../programs/find-programs.ts';
import { type ProgramKind, type Programs, programNames } from '../programs/installed-programs.ts';
import { engineProblem, startContainer } from './container-server.ts';
import { freePort } from './ports.ts';

/**
 * Starts a server in a container where a Docker engine runs, else from programs of this machine or of Debian's packages.
 *
 * @throws Error that says what was tried, when none can be had.
 */
export async function startServer(program: ServerProgram, port?: number): Promise<TestServer> {
  const tried: string[] = [];
  const problem = await engineProblem();
  if (problem === undefined) {
    try {
      return await startContainer(program, port);
    } catch (thrown) {
      tried.push(`a container of ${program.image.name}: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
    }
  } else {
    tried.push(`a container of ${program.image.name}: no Docker engine answers (${problem})`);
  }
  return startServerProcess(program, await findPrograms(program.kind, tried), port);
}

/**
 * A real server of a test's own, on 127.0.0.1. It ends with the process that started it, even if that one crashes.
 * In a container it has no `pid`. Disposing it stops it and removes its data.
 */
export interface TestServer extends ProcessControl, AsyncDisposable {
  readonly url: string;
  /** Stays the same over restarts. */
  readonly port: number;
}

/** What has to be known of a server to run it, as a process or in a container. */
export interface ServerProgram extends ProcessProgram {
  readonly image: ServerImage;
}

/** What has to be known of a server to run it as a process. */
export interface ProcessProgram {
  readonly kind: ProgramKind;
  /** Ends it in an orderly way without waiting for its clients. */
  readonly stopSignal: NodeJS.Signals;
  /** The user that it runs as; undefined means this process' own. */
  readonly uid: number | undefined;
  /** What the server must find in its data folder before its first start. */
  prepare?(programs: Programs, dataDir: string): Promise<void>;
  /** The server's arguments when it runs as a process. */
  parameters(port: number, dataDir: string): readonly string[];
  url(host: string, port: number): string;
  /** Resolves when the server answers; throws as long as it doesn't. */
  ping(host: string, port: number): Promise<void>;
}

export interface ServerImage {
  readonly name: string;
  readonly port: number;
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/** The environment of a server: nothing of the caller's but what programs need to run. */
export function serverEnvironment({ libraryFolders }: Programs): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    LC_ALL: 'C',
    TZ: 'UTC',
    ...(libraryFolders.length === 0 ? {} : { LD_LIBRARY_PATH: libraryFolders.join(':') }),
  };
}

/** Starts a server as a child process, with a temporary folder of its own. */
export async function startServerProcess(
  program: ProcessProgram,
  programs: Programs,
  fixedPort?: number,
): Promise<TestServer> {
  const folder = await mkdtemp(join(tmpdir(), `testkit-${program.kind}-`));
  const reaper = new ProcessReaper(folder);
  try {
    const dataDir = await createDataDir(program, folder);
    await program.prepare?.(programs, dataDir);
    return await startOnSomePort(program, programs, dataDir, reaper, fixedPort);
  } catch (thrown) {
    await reaper.dismiss();
    throw thrown;
  }
}

async function createDataDir({ uid }: ProcessProgram, folder: string): Promise<string> {
  const dataDir = join(folder, 'data');
  await mkdir(dataDir);
  if (uid !== undefined) for (const path of [folder, dataDir]) await chown(path, uid, uid);
  return dataDir;
}

/** Another process may take a free port between the question and its use: then a next one is tried. */
async function startOnSomePort(
  program: ProcessProgram,
  programs: Programs,
  dataDir: string,
  reaper: ProcessReaper,
  fixedPort: number | undefined,
): Promise<TestServer> {
  for (let attempt = 1; ; attempt++) {
    const port = fixedPort ?? (await freePort());
    const managed = new ManagedProcess(planOf(program, programs, dataDir, port), reaper);
    const server = Object.assign(managed, {
      url: program.url('127.0.0.1', port),
      port,
      async [Symbol.asyncDispose]() {
        await managed.stop();
        await reaper.dismiss();
      },
    });
    try {
      await server.restart();
      return server;
    } catch (thrown) {
      const isTaken = thrown instanceof Error && /address already in use/i.test(thrown.message);
      if (!isTaken || fixedPort !== undefined || attempt === 5) throw thrown;
    }
  }
}

function planOf(program: ProcessProgram, programs: Programs, dataDir: string, port: number): ProcessPlan {
  const [server = ''] = programNames[program.kind];
  return {
    name: `the ${program.kind} server at port ${port}`,
    command: join(programs.folder, server),
    parameters: program.parameters(port, dataDir),
    env: serverEnvironment(programs),
    cwd: dataDir,
    uid: program.uid,
    stopSignal: program.stopSignal,
    stopTimeoutMs: 15_000,
    ping: () => program.ping('127.0.0.1', port),
  };
}
