import { type FaultScript, type Simulator, startSimulator } from '@gateway/simulator';
import { providerName, providerPort } from '../gateway/simulated-pools.ts';
import type { Chance } from '../world/seeded.ts';
import { type World, WorldProcess } from '../world/world.ts';

/** Starts the providers in a process of their own: the product's simulator, on simulated time. */
export async function startProviders(world: World): Promise<Simulator> {
  const process = new WorldProcess(providerName);
  const options = { host: providerName, port: providerPort, eventDelayMs: 15 };
  const simulator = await process.run(() => world.runFor(startSimulator({ ...options, maximumRequests: 1e9 }), 1_000));
  return simulator;
}

/** Something that a provider does to a few requests. */
export function troubleOf(chance: Chance): FaultScript {
  const account = chance.pick(['responses-a', 'responses-b', 'messages-a', 'messages-b']);
  return { account, times: chance.between(1, 3), fault: chance.pick(troubles(chance)) };
}

function troubles(chance: Chance): readonly FaultScript['fault'][] {
  const afterEvents = chance.between(0, 6);
  return [
    { preset: 'rate_limited_retry_after', resetAfterSeconds: chance.between(1, 20) },
    { preset: 'overloaded' },
    { preset: 'server_error' },
    { preset: 'context_length_exceeded' },
    { preset: 'too_large' },
    { kind: 'reset', afterEvents },
    { kind: 'end', afterEvents },
    { kind: 'error_event', afterEvents },
    { kind: 'close_reused' },
    { kind: 'split_utf8' },
    { kind: 'usage_missing' },
    { kind: 'delay', beforeHeadersMs: chance.between(1, 5_000), betweenEventsMs: chance.between(1, 500) },
    { kind: 'stall', afterEvents },
  ];
}
