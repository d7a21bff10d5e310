import { fork } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { AdapterService } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { LimiterService } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import { directClient } from '../src/direct-client.ts';
import { openGrpcChannel } from '../src/grpc-client.ts';
import { openMultiplexedChannel } from '../src/multiplex/multiplexed-channel.ts';
import type { Client } from '../src/service-types.ts';
import { adapterRoute, limiterRoute, type Services } from './routes.ts';

/**
 * What a call costs: CPU time of both ends by the operating system's accounting, divided by the work done. Prints a
 * table. `node --expose-gc libs/rpc/bench/calls.ts [seconds per case]`.
 */
const seconds = Number(process.argv[2] ?? 2);
const request = { key: 'token:0123456789abcdef', requestId: 'r'.repeat(200), limits: { requestsPerMinute: 60 } };

const server = fork(new URL('./server-process.ts', import.meta.url));
const port = await new Promise<number>((resolve) => server.once('message', (message) => resolve(Number(message))));
const url = `http://127.0.0.1:${port}`;
using plain = openGrpcChannel(url);
using multiplexed = openMultiplexedChannel(url);
const transports: Readonly<Record<string, Services>> = {
  direct: { limiter: directClient(limiterRoute), adapter: directClient(adapterRoute) },
  multiplexed: { limiter: multiplexed.client(LimiterService), adapter: multiplexed.client(AdapterService) },
  'plain gRPC': { limiter: plain.client(LimiterService), adapter: plain.client(AdapterService) },
};

for (const { adapter } of Object.values(transports)) await streamedEvents(adapter, 10, 'burst');
for (const [name, { adapter }] of Object.entries(transports)) {
  await sleep(500);
  const before = await memory();
  const controller = new AbortController();
  const open = Array.from({ length: 5_000 }, () => heldOpen(adapter, controller.signal));
  await Promise.all(open.map(({ begun }) => begun));
  await sleep(500);
  const grown = (await memory()) - before;
  print(`${(grown / 5_000 / 1024).toFixed(1).padStart(8)} KiB   per open stream, both ends, ${name}`);
  controller.abort();
  await Promise.all(open.map(({ ended }) => ended));
}
for (const concurrency of [1, 10, 100]) {
  for (const [name, { limiter }] of Object.entries(transports)) {
    await report(`unary, ${name}, ${concurrency} at a time`, 'call', () => unaryCalls(limiter, concurrency));
  }
}
for (const concurrency of [1, 10, 100]) {
  for (const [name, { adapter }] of Object.entries(transports)) {
    await report(`stream, ${name}, ${concurrency} at a time`, 'event', () =>
      streamedEvents(adapter, concurrency, 'burst'),
    );
  }
}
for (const [name, { adapter }] of Object.entries(transports)) {
  await report(`stream, one event per turn, ${name}, 10 at a time`, 'event', () =>
    streamedEvents(adapter, 10, 'turns'),
  );
}
for (const [name, { adapter }] of Object.entries(transports)) {
  await report(`16 KiB up and down, ${name}, 10 at a time`, 'call', () => bodies(adapter, 10));
}
for (const [name, { adapter }] of Object.entries(transports)) {
  await report(`64 MiB up and down in pieces of 256 KiB, ${name}`, 'call', () => largeBody(adapter));
}
server.disconnect();

async function report(name: string, unit: string, work: () => Promise<number>): Promise<void> {
  await work();
  const before = await cpuMicros();
  const end = performance.now() + seconds * 1_000;
  let done = 0;
  while (performance.now() < end) done += await work();
  const micros = ((await cpuMicros()) - before) / done;
  print(`${micros.toFixed(2).padStart(8)} µs per ${unit}   ${name}`);
}

async function unaryCalls(limiter: Client<typeof LimiterService>, concurrency: number): Promise<number> {
  const each = 2_000 / concurrency;
  const worker = async () => {
    for (let n = 0; n < each; n++) await limiter.admit(request);
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  return 2_000;
}

async function streamedEvents(adapter: Services['adapter'], concurrency: number, mode: string): Promise<number> {
  const worker = async () => {
    let events = 0;
    for await (const _ of adapter.execute(only({ body: Buffer.from(mode) }))) events++;
    return events;
  };
  const counts = await Promise.all(Array.from({ length: concurrency }, worker));
  return counts.reduce((sum, count) => sum + count);
}

async function bodies(adapter: Services['adapter'], concurrency: number): Promise<number> {
  const body = Buffer.alloc(16 * 1024, 'b');
  const worker = async () => {
    for await (const _ of adapter.execute(only({ body }))) void _;
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  return concurrency;
}

async function largeBody(adapter: Services['adapter']): Promise<number> {
  const body = Buffer.alloc(256 * 1024, 'b');
  const pieces = async function* () {
    for (let n = 0; n < 256; n++) yield { body };
  };
  for await (const _ of adapter.execute(pieces())) void _;
  return 1;
}

function heldOpen(adapter: Services['adapter'], signal: AbortSignal) {
  const iterator = adapter.execute(only({ body: Buffer.from('hold') }), { signal })[Symbol.asyncIterator]();
  const begun = iterator.next();
  const ended = begun.then(() => iterator.next()).then(undefined, () => undefined);
  return { begun, ended };
}

async function* only<T>(item: T) {
  yield item;
}

async function cpuMicros(): Promise<number> {
  const own = process.cpuUsage();
  return own.user + own.system + (await ask('cpu'));
}

async function memory(): Promise<number> {
  globalThis.gc?.();
  await sleep(200);
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external + (await ask('memory'));
}

function ask(question: string): Promise<number> {
  return new Promise((resolve) => {
    server.once('message', (message) => resolve(Number(message)));
    server.send(question);
  });
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
