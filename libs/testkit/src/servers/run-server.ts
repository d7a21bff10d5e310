import { type ExecFileOptions, execFile } from 'node:child_process';
import { chown, mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ManagedProcess, type ProcessControl, untilReady } from '../managed-process.ts';
import { roomMs } from '../room/room.ts';
import { reportProgress } from './debian-packages.js';
import { findPrograms, type Programs, type WantedPrograms } from './find-programs.ts';
import { freePort } from './ports.ts';

/**
 * A real server for one test, on 127.0.0.1. It ends with the process that started it, even if that
 * one crashes. In a container it has no `pid`. Disposal stops it and removes its data.
 */
export interface TestServer extends ProcessControl, AsyncDisposable {
  readonly url: string;
  /** Stays the same across restarts. */
  readonly port: number;
}

/** What is needed to run a server. */
export interface Server extends WantedPrograms {
  /** The signal that stops it gracefully without waiting for its clients. */
  readonly stopSignal: NodeJS.Signals;
  /** The user to run as; undefined: the same as this process. */
  readonly uid?: number | undefined;
  /** Undefined: it runs only as a process. */
  readonly image?: ServerImage;
  /** Creates what the server needs in its data folder before its first start. */
  prepare?(programs: Programs, dataDir: string, port: number): Promise<void>;
  /** The server's arguments when it runs as a process. */
  parameters(port: number, dataDir: string): readonly string[];
  url(host: string, port: number): string;
  /** Resolves when the server answers; throws until then. */
  ping(host: string, port: number): Promise<void>;
}

export interface ServerImage {
  readonly name: string;
  readonly port: number;
  readonly command: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

/**
 * Starts a server in a container if a Docker engine is running; otherwise from installed programs
 * or Debian's packages.
 *
 * @throws Error that says what was tried when none is available.
 */
export async function startServer(server: Server, port?: number): Promise<TestServer> {
  const { image } = server;
  if (image === undefined) return startServerProcess(server, port);
  try {
    dockerEngine ??= findDockerEngine();
    await dockerEngine;
    return await startContainer(server, image, port);
  } catch (thrown) {
    return startServerProcess(server, port, [`a container of ${image.name}: ${textOf(thrown)}`]);
  }
}

/** Starts a server as a child process, with a temporary folder of its own. */
export async function startServerProcess(
  server: Server,
  fixedPort?: number,
  alreadyTried: readonly string[] = [],
): Promise<TestServer> {
  const programs = await findPrograms(server, alreadyTried);
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOnPort(server, programs, fixedPort ?? (await freePort()));
    } catch (thrown) {
      // Another process may take a free port before the server does; then the next one is tried.
      const isTaken = /address already in use/i.test(textOf(thrown));
      if (!isTaken || fixedPort !== undefined || attempt === 5) throw thrown;
    }
  }
}

async function startOnPort(server: Server, programs: Programs, port: number): Promise<TestServer> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), `testkit-${server.name}-`));
  const dataDir = join(folder, 'data');
  const [program = ''] = server.programs;
  const managed = stack.use(
    new ManagedProcess(
      {
        name: `the ${server.name} server at port ${port}`,
        command: join(programs.folder, program),
        parameters: server.parameters(port, dataDir),
        env: serverEnvironment(programs),
        cwd: dataDir,
        uid: server.uid,
        stopSignal: server.stopSignal,
        stopTimeoutMs: roomMs(15_000),
        ping: () => server.ping('127.0.0.1', port),
      },
      folder,
    ),
  );
  await mkdir(dataDir);
  if (server.uid !== undefined) for (const path of [folder, dataDir]) await chown(path, server.uid, server.uid);
  await server.prepare?.(programs, dataDir, port);
  await managed.restart();
  stack.move();
  return Object.assign(managed, { url: server.url('127.0.0.1', port), port });
}

/** The environment of a server: only the variables that programs need to run. */
function serverEnvironment({ libraryFolders }: Programs): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    LC_ALL: 'C',
    TZ: 'UTC',
    ...(libraryFolders.length === 0 ? {} : { LD_LIBRARY_PATH: libraryFolders.join(':') }),
  };
}

/** Runs a program that belongs to a server to completion and returns its output. */
export async function runProgram(
  programs: Programs,
  name: string,
  parameters: readonly string[],
  options: Pick<ExecFileOptions, 'cwd' | 'timeout' | 'uid' | 'gid'>,
): Promise<string> {
  const env = serverEnvironment(programs);
  const { stdout } = await promisify(execFile)(join(programs.folder, name), parameters, { ...options, env });
  return String(stdout);
}

let dockerEngine: Promise<void> | undefined;

async function findDockerEngine(): Promise<void> {
  await promisify(execFile)('docker', ['info'], { timeout: roomMs(3_000) }).catch((thrown) => {
    throw new Error(`no Docker engine answers (${textOf(thrown)})`);
  });
}

/** Starts a server in a container that ends with this process. */
async function startContainer(server: Server, image: ServerImage, fixedPort?: number): Promise<TestServer> {
  const { GenericContainer, getContainerRuntimeClient } = await import('testcontainers');
  reportProgress(`starting a container of ${image.name}`);
  // A fixed port of the host: one that the engine picks would change with a restart.
  const port = fixedPort ?? (await freePort());
  const started = await new GenericContainer(image.name)
    .withExposedPorts({ container: image.port, host: port })
    .withEnvironment({ ...image.environment })
    .withCommand([...image.command])
    .start();
  const container = (await getContainerRuntimeClient()).container.getById(started.getId());
  const host = started.getHost();
  const url = server.url(host, port);
  const ready = () => untilReady(url, () => server.ping(host, port));
  let state: 'running' | 'paused' | 'stopped' = 'running';
  const end = async (how: 'stop' | 'kill') => {
    if (state === 'stopped') return;
    if (state === 'paused') await container.unpause();
    await container[how]();
    state = 'stopped';
  };
  await ready();
  return {
    url,
    port,
    pid: undefined,
    stop: () => end('stop'),
    kill: () => end('kill'),
    async pause() {
      await container.pause();
      state = 'paused';
    },
    async resume() {
      await container.unpause();
      state = 'running';
    },
    async restart() {
      await end('stop');
      await container.start();
      state = 'running';
      await ready();
    },
    [Symbol.asyncDispose]: () => container.remove({ force: true, v: true }),
  };
}

function textOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
