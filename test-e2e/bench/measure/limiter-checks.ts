import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  type ClientDuplexStream,
  credentials,
  makeGenericClientConstructor,
  type ServiceDefinition,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import type { ServicesSystem } from '../systems/services.ts';
import { microsecondsBetween, readProcessorTimes } from './processor-time.ts';
import { untilSettled } from './until-settled.ts';

export interface ServiceFigures {
  /** Checks or events a second, with all processes on the system's core. */
  readonly perSecond: number;
  /** Microseconds each, by process name. */
  readonly microsEach: Readonly<Record<string, number>>;
}

const checksPerBatch = 100;
const batchesInFlight = 16;
const keys = Array.from({ length: 1_000 }, (_, index) => `bench:${index}`);
const limits = { requestsPerMinute: 10_000_000, tokensPerDay: 1_000_000_000_000 };

/** Exact checks over one AdmitStream, as many as the limiter and its Redis can decide. */
export async function measureLimiter(services: ServicesSystem, measureMs: number): Promise<ServiceFigures> {
  const client = openClient(services.limiterAddress);
  const stream = client.stream();
  const failure = Promise.withResolvers<never>();
  failure.promise.catch(() => undefined);
  let decided = 0;
  let refused = 0;
  let degraded = 0;
  stream.on('error', failure.reject);
  stream.on('data', ({ decisions }: Decisions) => {
    decided += decisions.length;
    refused += decisions.filter(({ refusal }) => refusal !== null).length;
    degraded += decisions.filter(({ status }) => status.degraded).length;
    stream.write(nextBatch());
  });
  try {
    for (let batch = 0; batch < batchesInFlight; batch++) stream.write(nextBatch());
    await untilSettled(async () => {
      const decidedBefore = decided;
      await Promise.race([sleep(settleMs), failure.promise]);
      return settleMs / (decided - decidedBefore);
    }, mostSettlingTurns);
    const watched = services.processes.filter(({ name }) => name === 'limiter' || name === 'redis');
    const before = { decided, degraded, atMs: performance.now(), times: readProcessorTimes(watched) };
    await Promise.race([sleep(measureMs), failure.promise]);
    const checks = decided - before.decided;
    if (refused > 0) throw new Error(`The limiter refused ${refused} checks of limits that none can reach.`);
    // Decisions of the limiter alone, without Redis, are not exact among replicas, and not the
    // subject here.
    const alone = degraded - before.degraded;
    if (alone > 0) throw new Error(`The limiter decided ${alone} of ${checks} checks without Redis.`);
    const micros = microsecondsBetween(before.times, readProcessorTimes(watched));
    return {
      perSecond: (checks / (performance.now() - before.atMs)) * 1_000,
      microsEach: Object.fromEntries(Object.entries(micros).map(([name, value]) => [name, value / checks])),
    };
  } finally {
    stream.removeAllListeners('data');
    stream.on('error', () => undefined);
    stream.cancel();
    client.close();
  }
}

const settleMs = 1_000;
const mostSettlingTurns = 15;

interface Decisions {
  readonly decisions: readonly { readonly refusal: object | null; readonly status: { readonly degraded: boolean } }[];
}

let sent = 0;

function nextBatch(): object {
  const run = randomUUID();
  const checks = Array.from({ length: checksPerBatch }, (_, index) => ({
    key: keys[sent++ % keys.length],
    requestId: `${run}-${index}`,
    limits,
  }));
  return { checks };
}

interface CheckClient {
  readonly stream: () => ClientDuplexStream<object, Decisions>;
  readonly close: () => void;
}

function openClient(address: string): CheckClient {
  const name = 'gateway.limiter.v2.LimiterService';
  const folder = fileURLToPath(new URL('../../../proto', import.meta.url));
  const options = { includeDirs: [folder], enums: String, longs: String, defaults: true };
  const definition = loadSync('gateway/limiter/v2/limiter_service.proto', options);
  const Client = makeGenericClientConstructor(definition[name] as ServiceDefinition, name);
  const client = new Client(address, credentials.createInsecure());
  // The generated methods are known only at run time; `this` is the client.
  const admitStream = Reflect.get(client, 'admitStream') as CheckClient['stream'];
  return { stream: () => admitStream.call(client), close: () => client.close() };
}
