import fs from 'node:fs';
import filePromises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import { replaceDatabases } from './databases.ts';
import { connectSocket, listenOn, type SocketAddress } from './http-network.ts';
import type { Network } from './network.ts';
import { currentProcess, here, type World } from './world.ts';
import { WorldImmediate, WorldTimer } from './world-timer.ts';

/**
 * Replaces the parts of Node that libraries use directly: timers, clocks, sockets and disks. The
 * product's own code takes time and chance from `@gateway/time`. Import this before any of it: some
 * libraries keep the functions that they find when they are loaded.
 */
export function simulateOn(next: Network): void {
  network = next;
}

/** The world that runs. */
export function activeWorld(): World {
  if (network === undefined) throw new Error('No world runs.');
  return network.world;
}

let network: Network | undefined;

const real = {
  setTimeout,
  setInterval,
  setImmediate,
  clearTimeout,
  clearImmediate,
  now: Date.now,
  monotonicNow: performance.now.bind(performance),
  connect: net.connect,
  listen: net.Server.prototype.listen,
  timeoutSignal: AbortSignal.timeout,
};

type Run = (...values: unknown[]) => void;

replaceTimers();
replaceClocks();
replaceSockets();
replaceDisks();
replaceDatabases();
syncBuiltinESMExports();

function replaceTimers(): void {
  const started = (run: () => void, delayMs: number, repeats: boolean) =>
    new WorldTimer(activeWorld, run, { delayMs, repeats, place: placeOf(run) });
  const clear = (timer: unknown) => {
    if (timer instanceof WorldTimer) timer.close();
    else real.clearTimeout(timer as NodeJS.Timeout);
  };
  Object.assign(globalThis, {
    setTimeout: (run: Run, delayMs = 1, ...values: unknown[]) =>
      network === undefined ? real.setTimeout(run, delayMs, ...values) : started(named(run, values), delayMs, false),
    setInterval: (run: Run, delayMs = 1, ...values: unknown[]) =>
      network === undefined ? real.setInterval(run, delayMs, ...values) : started(named(run, values), delayMs, true),
    setImmediate: (run: Run, ...values: unknown[]) =>
      network === undefined
        ? real.setImmediate(run, ...values)
        : new WorldImmediate(network.world, () => run(...values)),
    clearTimeout: clear,
    clearInterval: clear,
    clearImmediate: (immediate: unknown) => {
      if (immediate instanceof WorldImmediate) immediate[Symbol.dispose]();
      else real.clearImmediate(immediate as NodeJS.Immediate);
    },
  });
  AbortSignal.timeout = (delayMs) => {
    if (network === undefined) return real.timeoutSignal.call(AbortSignal, delayMs);
    const controller = new AbortController();
    const reason = new DOMException('The operation was aborted due to timeout', 'TimeoutError');
    started(() => controller.abort(reason), delayMs, false);
    return controller.signal;
  };
}

/** Keeps the name of the function: see `placeOf`. */
function named(run: Run, values: readonly unknown[]): () => void {
  return values.length === 0 ? run : () => run(...values);
}

/**
 * undici has one timer for all its clients, whose processes all die sooner or later: it belongs to
 * none of them.
 */
function placeOf(run: () => void) {
  return run.name === 'onTick' ? { owner: undefined, inContext: (act: () => void) => act() } : here();
}

function replaceClocks(): void {
  Date.now = () =>
    network === undefined ? real.now() : Math.floor(network.world.nowMs) + (currentProcess()?.clockOffsetMs ?? 0);
  const now = () => (network === undefined ? real.monotonicNow() : network.world.elapsedMs);
  Object.defineProperty(performance, 'now', { value: now });
}

function replaceSockets(): void {
  const connect = (address: SocketAddress, ...rest: unknown[]) =>
    network === undefined ? Reflect.apply(real.connect, net, [address, ...rest]) : connectSocket(network, address);
  Object.assign(net, { connect, createConnection: connect });
  net.Server.prototype.listen = function listen(this: net.Server, ...given: unknown[]) {
    if (network === undefined) return Reflect.apply(real.listen, this, given);
    const [first] = given;
    listenOn(network, this, typeof first === 'object' && first !== null ? first : { port: Number(first) });
    return this;
  };
}

type Operation = (...given: never) => unknown;

/**
 * Operations on files that run in other threads would end at real instants: here they have ended
 * when they begin.
 */
function replaceDisks(): void {
  for (const name of ['mkdir', 'mkdtemp', 'rm', 'rmdir', 'stat'] as const) {
    const [later, atOnce]: Operation[] = [filePromises[name], fs[`${name}Sync`]];
    Object.assign(filePromises, {
      [name]: async (...given: unknown[]) =>
        Reflect.apply((network === undefined ? later : atOnce) as Operation, fs, given),
    });
  }
  const { readFile, readdir } = filePromises;
  Object.assign(filePromises, {
    // Every disk has an order of its own.
    readdir: async (path: string) => (network === undefined ? readdir(path) : fs.readdirSync(path).sort()),
    readFile: async (...given: unknown[]) => {
      if (network === undefined) return Reflect.apply(readFile, filePromises, given);
      // The tables of real sockets say nothing about simulated ones.
      return String(given[0]).startsWith('/proc/') ? '' : Reflect.apply(fs.readFileSync, fs, given);
    },
  });
}
