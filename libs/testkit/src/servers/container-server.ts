import { untilReady } from '../processes/managed-process.ts';
import { reportProgress, runCommand } from '../programs/run-command.ts';
import { freePort } from './ports.ts';
import type { ServerProgram, TestServer } from './test-server.ts';

let problem: Promise<string | undefined> | undefined;

/** Why no container can be started here; undefined when a Docker engine answers. */
export function engineProblem(): Promise<string | undefined> {
  problem ??= runCommand('docker', ['info', '--format', '{{.ServerVersion}}'], { timeoutMs: 3_000 }).then(
    () => undefined,
    (thrown) => (thrown instanceof Error ? thrown.message : String(thrown)),
  );
  return problem;
}

/** Starts a server in a container that ends with this process. */
export async function startContainer(program: ServerProgram, fixedPort?: number): Promise<TestServer> {
  const { GenericContainer, getContainerRuntimeClient } = await import('testcontainers');
  const { image } = program;
  reportProgress(`starting a container of ${image.name}`);
  // A fixed port of the host: one that the engine picks would be another after a restart.
  const port = fixedPort ?? (await freePort());
  const started = await new GenericContainer(image.name)
    .withExposedPorts({ container: image.port, host: port })
    .withEnvironment({ ...image.environment })
    .withCommand([...image.command])
    .start();
  const container = (await getContainerRuntimeClient()).container.getById(started.getId());
  const host = started.getHost();
  const url = program.url(host, port);
  const never = Promise.withResolvers<never>().promise;
  const ready = () => untilReady(url, () => program.ping(host, port), never, 60_000);
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
