import { setTimeout as sleep } from 'node:timers/promises';
import type { ServiceName } from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';
import type { Family, Injection } from './injection.ts';

/** One process of a service dies as in a crash, and is restarted. */
export function killed(name: ServiceName, family: Family, awayMs: number): Injection {
  return {
    name: `${name} kill -9`,
    family,
    async inject({ gateway, load, random }) {
      const index = random.between(0, gateway.replicas[name].length - 1);
      const victim = gateway.replicas[name][index];
      const { underWay } = load;
      await victim?.kill();
      await sleep(awayMs);
      const restartedMs = Date.now();
      await victim?.restart();
      return `number ${index + 1} killed with ${underWay} requests under way; ready ${Date.now() - restartedMs} ms after its start`;
    },
  };
}

/** One process of a service is suspended with its connections open, and resumes. */
export function frozen(name: ServiceName, family: Family, durationMs: number): Injection {
  return {
    name: `${name} SIGSTOP`,
    family,
    async inject({ gateway, load, random }) {
      const index = random.between(0, gateway.replicas[name].length - 1);
      const victim = gateway.replicas[name][index];
      await victim?.pause();
      await sleep(durationMs);
      await victim?.resume();
      return `number ${index + 1} stood still for ${durationMs} ms; ${load.underWay} requests under way at its end`;
    },
  };
}

/** Every ingest dies repeatedly, at any point of its work. */
export function ingestKilledInALoop(times: number): Injection {
  return {
    name: 'ingest kill -9 in a loop',
    family: 'ingest',
    async inject({ gateway, random }) {
      const ingests = gateway.replicas['usage-ingest'];
      for (let n = 0; n < times; n++) {
        await ingests[n % ingests.length]?.kill();
        await ingests[n % ingests.length]?.restart();
        await sleep(random.between(0, 300));
      }
      return `${times} kills`;
    },
  };
}

/** Ingests die after the commit of their transaction and before the acknowledgement. */
export const ingestKilledBeforeItsAcknowledgement: Injection = {
  name: 'ingest killed between commit and acknowledgement',
  family: 'ingest',
  async inject({ gateway, ledger, effects }) {
    const ingests = gateway.replicas['usage-ingest'];
    let commits = 0;
    {
      await using _closed = await ledger.closeCommitGate();
      commits = await ledger.waitForCommits(roomMs(8_000));
      await Promise.all(ingests.map((ingest) => ingest.kill()));
      // Postgres has not noticed: as soon as the gate opens, it commits.
    }
    await Promise.all(ingests.map((ingest) => ingest.restart()));
    effects.committedAfterDeath += commits;
    return `${commits} batches committed by ingests that were dead by then`;
  },
};
