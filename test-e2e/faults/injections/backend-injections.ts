import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { roomMs } from '@gateway/testkit/room';
import type { Family, FaultScene, Injection } from './injection.ts';

type Backend = 'redis' | 'nats' | 'postgres';
const familyOf: Readonly<Record<Backend, Family>> = { redis: 'Redis', nats: 'NATS', postgres: 'Postgres' };

/**
 * A server dies, and comes back after a while with the data on its disk; Redis comes back empty.
 */
export function backendKilled(name: Backend, awayMs: number): Injection {
  return {
    name: `${name} kill -9`,
    family: familyOf[name],
    async inject({ gateway }) {
      await gateway[name].kill();
      await sleep(awayMs);
      await gateway[name].restart();
      return `away for ${awayMs} ms`;
    },
  };
}

/** A server is suspended with its connections open, and resumes. */
export function backendFrozen(name: Backend, durationMs: number): Injection {
  return {
    name: `${name} SIGSTOP`,
    family: familyOf[name],
    async inject({ gateway }) {
      await gateway[name].pause();
      await sleep(durationMs);
      await gateway[name].resume();
      return `stood still for ${durationMs} ms`;
    },
  };
}

/** As `pg_ctl -m immediate`: no goodbye, no checkpoint, recovery at the next start. */
export const postgresStoppedAtOnce: Injection = {
  name: 'postgres immediate restart',
  family: 'Postgres',
  async inject({ gateway: { postgres } }) {
    if (postgres.pid === undefined) await postgres.kill();
    else process.kill(postgres.pid, 'SIGQUIT');
    await until(() => postgres.pid === undefined);
    await postgres.restart();
    return 'restarted, with recovery';
  },
};

/** One connection of an ingest gets no answer, while Postgres serves all others. */
export function postgresBackendFrozen(durationMs: number): Injection {
  return {
    name: 'a Postgres backend SIGSTOP',
    family: 'Postgres',
    async inject({ ledger, random }: FaultScene) {
      const pids = await ledger.backendsOf('usage-ingest');
      if (pids.length === 0) return 'no connection of an ingest was open';
      const pid = random.pick(pids);
      process.kill(pid, 'SIGSTOP');
      await sleep(durationMs);
      process.kill(pid, 'SIGCONT');
      return `one of ${pids.length} connections stood still for ${durationMs} ms`;
    },
  };
}

export const redisFlushed: Injection = {
  name: 'redis FLUSHALL',
  family: 'Redis',
  async inject({ gateway: { redis } }) {
    const socket = connect({ host: '127.0.0.1', port: redis.port });
    socket.write('FLUSHALL\r\n');
    const [answer] = await once(socket, 'data');
    socket.destroy();
    return `it answered ${String(answer).trim()}`;
  },
};

async function until(holds: () => boolean): Promise<void> {
  for (const giveUpAt = Date.now() + roomMs(15_000); !holds(); await sleep(50)) {
    if (Date.now() > giveUpAt) throw new Error('the server has not ended in 15 s');
  }
}
