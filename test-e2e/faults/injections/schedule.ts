import { setTimeout as sleep } from 'node:timers/promises';
import type { RandomNumbers } from '../random-numbers.ts';
import {
  backendFrozen,
  backendKilled,
  postgresBackendFrozen,
  postgresStoppedAtOnce,
  redisFlushed,
} from './backend-injections.ts';
import { poisonedEvents, repeatedEvents } from './event-injections.ts';
import type { FaultScene, Injection } from './injection.ts';
import { frozen, ingestKilledBeforeItsAcknowledgement, ingestKilledInALoop, killed } from './process-injections.ts';
import { deletedStream, fullStream, purgedStream } from './stream-injections.ts';

/** At least one injection of each family, in under half a minute. */
export const shortSchedule: readonly Injection[] = [
  repeatedEvents,
  killed('edge-router', 'edge', 200),
  poisonedEvents,
  ingestKilledBeforeItsAcknowledgement,
  redisFlushed,
  fullStream(1_500),
  killed('limiter', 'limiter', 200),
  postgresStoppedAtOnce,
  backendKilled('nats', 1_000),
  purgedStream(700),
  killed('responses-adapter', 'relay', 200),
  backendKilled('redis', 300),
  killed('pool-broker', 'relay', 100),
];

/** All injections. */
const allInjections: readonly Injection[] = [
  repeatedEvents,
  poisonedEvents,
  fullStream(6_000),
  purgedStream(2_000),
  deletedStream(2_000),
  ingestKilledInALoop(6),
  ingestKilledBeforeItsAcknowledgement,
  frozen('usage-ingest', 'ingest', 4_000),
  backendKilled('nats', 100),
  backendKilled('nats', 8_000),
  backendFrozen('nats', 7_000),
  postgresStoppedAtOnce,
  backendKilled('postgres', 5_000),
  backendFrozen('postgres', 4_000),
  postgresBackendFrozen(4_000),
  backendKilled('redis', 1_000),
  backendFrozen('redis', 4_000),
  redisFlushed,
  killed('edge-router', 'edge', 100),
  killed('edge-router', 'edge', 3_000),
  frozen('edge-router', 'edge', 4_000),
  killed('limiter', 'limiter', 1_000),
  frozen('limiter', 'limiter', 4_000),
  killed('pool-broker', 'relay', 500),
  frozen('pool-broker', 'relay', 3_000),
  killed('responses-adapter', 'relay', 500),
  killed('messages-adapter', 'relay', 500),
  frozen('messages-adapter', 'relay', 3_000),
  killed('identity', 'relay', 500),
  killed('usage-query', 'limiter', 500),
];

/** Every injection this many times, in an order that the seed determines. */
export function longSchedule(rounds: number, random: RandomNumbers): readonly Injection[] {
  return Array.from({ length: rounds }, () => random.shuffled(allInjections)).flat();
}

/** An injection that has happened. */
export interface Injected {
  readonly injection: Injection;
  readonly atMs: number;
  readonly tookMs: number;
  readonly effect: string;
}

/** Injections one after the other, each after the repair of the one before. */
export async function carryOut(
  injections: readonly Injection[],
  field: FaultScene,
  options: { readonly pauseMs: number; readonly onInjected: (injected: Injected) => void },
): Promise<readonly Injected[]> {
  const startMs = Date.now();
  const injected: Injected[] = [];
  for (const injection of injections) {
    const atMs = Date.now();
    const effect = await injection.inject(field);
    const done = { injection, atMs: atMs - startMs, tookMs: Date.now() - atMs, effect };
    injected.push(done);
    options.onInjected(done);
    await sleep(options.pauseMs * (0.5 + field.random.next()));
  }
  return injected;
}
