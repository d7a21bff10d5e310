import { chown, mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManagedProcess } from '../processes/managed-process.ts';
import { Undertaker } from '../processes/undertaker.ts';
import { programNames } from '../programs/backend-kind.ts';
import type { Programs } from '../programs/find-programs.ts';
import { freePort } from './free-port.ts';
import { type ProcessProgram, serverEnvironment } from './server-program.ts';
import type { TestServer } from './test-server.ts';

/** Starts a server as a child process, with a temporary folder of its own. */
export async function startServerProcess(
  program: ProcessProgram,
  programs: Programs,
  fixedPort?: number,
): Promise<TestServer> {
  const folder = await mkdtemp(join(tmpdir(), `testkit-${program.kind}-`));
  const undertaker = new Undertaker(folder);
  try {
    const dataDir = await createDataDir(program, folder);
    await program.prepare?.(programs, dataDir);
    return await startOnSomePort(program, programs, dataDir, undertaker, fixedPort);
  } catch (thrown) {
    await undertaker.dismiss();
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
  undertaker: Undertaker,
  fixedPort: number | undefined,
): Promise<TestServer> {
  for (let attempt = 1; ; attempt++) {
    const port = fixedPort ?? (await freePort());
    const process = new ManagedProcess(planOf(program, programs, dataDir, port), undertaker);
    try {
      await process.restart();
      return testServer(program, process, port, undertaker);
    } catch (thrown) {
      const isTaken = thrown instanceof Error && /address already in use/i.test(thrown.message);
      if (!isTaken || fixedPort !== undefined || attempt === 5) throw thrown;
    }
  }
}

function planOf(program: ProcessProgram, programs: Programs, dataDir: string, port: number) {
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

function testServer(
  program: ProcessProgram,
  process: ManagedProcess,
  port: number,
  undertaker: Undertaker,
): TestServer {
  return {
    url: program.url('127.0.0.1', port),
    port,
    get pid() {
      return process.pid;
    },
    stop: () => process.stop(),
    kill: () => process.kill(),
    pause: () => process.pause(),
    resume: () => process.resume(),
    restart: () => process.restart(),
    async [Symbol.asyncDispose]() {
      await process.stop();
      await undertaker.dismiss();
    },
  };
}
