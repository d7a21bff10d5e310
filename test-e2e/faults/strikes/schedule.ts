import { setTimeout as sleep } from 'node:timers/promises';
import type { RandomNumbers } from '../random-numbers.ts';
import {
  backendFrozen,
  backendKilled,
  postgresBackendFrozen,
  postgresStoppedAtOnce,
  redisFlushed,
} from './backend-strikes.ts';
import { poisonedEvents, repeatedEvents } from './event-strikes.ts';
import { frozen, ingestKilledBeforeItsAcknowledgement, ingestKilledInALoop, killed } from './process-strikes.ts';
import { deletedStream, fullStream, purgedStream } from './stream-strikes.ts';
import type { Battlefield, Strike } from './strike.ts';

/** At least one strike of each family, in under half a minute. */
export const shortSchedule: readonly Strike[] = [
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

/** Every strike there is. */
const allStrikes: readonly Strike[] = [
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

/** Every strike so many times, in an order that the seed decides. */
export function longSchedule(rounds: number, random: RandomNumbers): readonly Strike[] {
  return Array.from({ length: rounds }, () => random.shuffled(allStrikes)).flat();
}

/** A strike that has struck. */
export interface Struck {
  readonly strike: Strike;
  readonly atMs: number;
  readonly tookMs: number;
  readonly effect: string;
}

/** Strikes one after the other, each when the one before is mended. */
export async function carryOut(
  strikes: readonly Strike[],
  field: Battlefield,
  options: { readonly pauseMs: number; readonly onStruck: (struck: Struck) => void },
): Promise<readonly Struck[]> {
  const startMs = Date.now();
  const struck: Struck[] = [];
  for (const strike of strikes) {
    const atMs = Date.now();
    const effect = await strike.strike(field);
    const done = { strike, atMs: atMs - startMs, tookMs: Date.now() - atMs, effect };
    struck.push(done);
    options.onStruck(done);
    await sleep(options.pauseMs * (0.5 + field.random.next()));
  }
  return struck;
}
