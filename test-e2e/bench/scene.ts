import { join } from 'node:path';
import { LoadGenerator } from './load/load-generator.ts';
import type { BenchOptions } from './options.ts';
import { findCores, moveTo } from './processes/cores.ts';
import { OwnProcess } from './processes/own-process.ts';
import { startAllInOne } from './systems/all-in-one.ts';
import { startBareNode } from './systems/bare-node.ts';
import { direct } from './systems/direct.ts';
import { startNginx } from './systems/nginx.ts';
import { startPortkey } from './systems/portkey.ts';
import { type ServicesSystem, startServicesSystem } from './systems/services.ts';
import type { System, SystemName } from './systems/system.ts';

/** Everything that runs while the bench measures. Disposing stops it. */
export interface Scene extends AsyncDisposable {
  readonly systems: readonly System[];
  readonly services: ServicesSystem | undefined;
  readonly generator: LoadGenerator;
  readonly isPinned: boolean;
  readonly providerPort: number;
  /** Starts a process on the core of the systems. */
  readonly onSystemCore: <T>(start: () => Promise<T>) => Promise<T>;
  /** What is missing, and why. */
  readonly notes: readonly string[];
}

/** Starts providers and generator on one core, and the systems on the other. */
export async function startScene(options: BenchOptions, interrupted: AbortSignal): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  // V8's sampler is a thread beside the thread that it profiles: on one core they would wait for
  // each other.
  const cores = options.profile ? undefined : findCores();
  const notes = cores === undefined ? ['fewer than two cores, or no taskset: nothing is pinned'] : [];
  moveTo(cores?.load);
  const provider = stack.use(
    await OwnProcess.start(process.execPath, [join(import.meta.dirname, 'provider/main.ts')], { ipc: true }),
  );
  // Its only message.
  const { port } = (await provider.message()) as { readonly port: number };
  const generator = stack.use(await LoadGenerator.start());
  const systems: System[] = options.systems.includes('direct') ? [direct(port)] : [];
  let services: ServicesSystem | undefined;
  const starters: Readonly<Record<Exclude<SystemName, 'direct'>, () => Promise<System | undefined>>> = {
    nginx: () => startNginx(port),
    'bare-node': () => startBareNode(port),
    portkey: () => startPortkeyIfThere(port, notes),
    'all-in-one': () => startAllInOne(port, { inspect: options.profile, workers: options.workers }),
    services: async () => {
      services = await startServicesSystem(port, { inspect: options.profile });
      return services;
    },
  };
  moveTo(cores?.system);
  for (const name of options.systems) {
    interrupted.throwIfAborted();
    if (name === 'direct' || (options.profile && !isOurs(name))) continue;
    process.stderr.write(`bench: starting ${name}\n`);
    try {
      const system = await starters[name]();
      if (system !== undefined) systems.push(stack.use(system));
    } catch (thrown) {
      if (isOurs(name)) throw thrown;
      notes.push(`without ${name}: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
    }
  }
  moveTo(cores?.load);
  const running = stack.move();
  return {
    providerPort: port,
    onSystemCore: async (start) => {
      moveTo(cores?.system);
      try {
        return await start();
      } finally {
        moveTo(cores?.load);
      }
    },
    systems,
    services,
    generator,
    isPinned: cores !== undefined,
    notes,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

function isOurs(name: SystemName): boolean {
  return name === 'all-in-one' || name === 'services';
}

async function startPortkeyIfThere(providerPort: number, notes: string[]): Promise<System | undefined> {
  const folder = process.env.BENCH_PORTKEY;
  if (folder !== undefined && folder !== '') return await startPortkey(folder, providerPort);
  notes.push('without @portkey-ai/gateway: BENCH_PORTKEY names no folder');
  return undefined;
}
