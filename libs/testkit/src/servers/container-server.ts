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
  const engine = await getContainerRuntimeClient();
  const server = new ContainerServer(program, engine.container.getById(started.getId()), started.getHost(), port);
  await server.untilReady();
  return server;
}

/** What is used of the engine's handle on a container. */
interface ContainerHandle {
  start(): Promise<unknown>;
  stop(): Promise<unknown>;
  kill(): Promise<unknown>;
  pause(): Promise<unknown>;
  unpause(): Promise<unknown>;
  remove(options: { readonly force: boolean; readonly v: boolean }): Promise<unknown>;
}

class ContainerServer implements TestServer {
  readonly port: number;
  readonly url: string;
  readonly pid = undefined;
  readonly #program: ServerProgram;
  readonly #container: ContainerHandle;
  readonly #host: string;
  #state: 'running' | 'paused' | 'stopped' = 'running';

  constructor(program: ServerProgram, container: ContainerHandle, host: string, port: number) {
    this.#program = program;
    this.#container = container;
    this.#host = host;
    this.port = port;
    this.url = program.url(host, port);
  }

  async untilReady(): Promise<void> {
    const never = Promise.withResolvers<never>().promise;
    await untilReady(this.url, () => this.#program.ping(this.#host, this.port), never, 60_000);
  }

  async stop(): Promise<void> {
    await this.#end(() => this.#container.stop());
  }

  async kill(): Promise<void> {
    await this.#end(() => this.#container.kill());
  }

  async pause(): Promise<void> {
    await this.#container.pause();
    this.#state = 'paused';
  }

  async resume(): Promise<void> {
    await this.#container.unpause();
    this.#state = 'running';
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.#container.start();
    this.#state = 'running';
    await this.untilReady();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#container.remove({ force: true, v: true });
  }

  async #end(end: () => Promise<unknown>): Promise<void> {
    if (this.#state === 'stopped') return;
    if (this.#state === 'paused') await this.#container.unpause();
    await end();
    this.#state = 'stopped';
  }
}
