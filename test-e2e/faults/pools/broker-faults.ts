import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Exchange } from './exchange.ts';
import { unavailable } from './expectations.ts';
import { accountsOf, leaseTtlSeconds } from './gateway-file.ts';
import { chatStream, messagesWhole } from './kinds.ts';
import { mostAtOnce } from './most-at-once.ts';
import type { PoolScene } from './pool-scene.ts';

/** Brokers that die, hang and restart under load. */
export function brokerFaults(scene: () => PoolScene, { rounds }: { readonly rounds: number }): void {
  describe('a broker that dies', () => {
    it('causes a 503 for new requests at its edges, and breaks no running stream, until it is back', async () => {
      const broker = scene().replica('pool-broker', 0);
      const { exchange: running } = await scene().ask({ kind: chatStream('first'), length: 60 });
      await expect.poll(() => running.events.length).toBeGreaterThan(3);
      await broker.kill();
      const { exchange: chat } = await scene().askToEnd({ kind: chatStream('first') });
      expect([chat.status, chat.json]).toEqual([503, unavailable.chat]);
      const { exchange: messages } = await scene().askToEnd({ kind: messagesWhole('second') });
      expect([messages.status, messages.json]).toEqual([503, unavailable.messages]);
      const { exchange: elsewhere } = await scene().askToEnd({ kind: chatStream('first'), edge: 1 });
      expect(elsewhere.ending).toBe('whole');
      await broker.restart();
      await scene().answersAgain(0);
      expect((await running.ended).ending).toBe('whole');
    });
  });

  describe('a broker that hangs', () => {
    it('causes a 503 for new requests at its edges when it gives no sign of life, and loses no slot of an account', async () => {
      const broker = scene().replica('pool-broker', 1);
      await broker.pause();
      const refused = await Promise.all(
        Array.from({ length: 8 }, () => scene().askToEnd({ kind: messagesWhole('frozen'), edge: 1 })),
      );
      await broker.resume();
      for (const { exchange } of refused) {
        expect(exchange.status).toBe(503);
      }
      await scene().answersAgain(1);
      // After it resumed, it has taken back leases for requests that had gone: well before the
      // leases expire.
      await expect
        .poll(() => scene().inFlight('frozen', 1), { timeout: (leaseTtlSeconds * 1_000) / 2 })
        .toEqual([0, 0]);
    });
  });

  describe('brokers that die, hang and restart under load', () => {
    it('never let an account have more requests at a time than it may, and find every place again', async () => {
      const asked = await underLoad(scene(), async () => {
        for (let round = 0; round < rounds; round++) {
          await killed(scene(), 0);
          await frozen(scene(), 1);
          await startedAnew(scene(), 2);
        }
      });
      const accounts = accountsOf('capped');
      const most = accounts.map((account) => mostAtOnce(scene().simulator.requests({ account })));
      const alone = scene().logs.filter((line) => line.includes('using in-memory account state')).length;
      process.stdout.write(
        `caps of 3: at most ${most.join(', ')} at once, ${asked.length} requests, ${alone} times a broker went on without Redis\n`,
      );
      for (const each of most) expect(each).toBeLessThanOrEqual(3);
      const views = Map.groupBy(asked, ({ asked: { view, status } }) => (view === 'refused' ? `${status}` : view));
      // Full accounts are refused with 429, a broker that is away with 503; no running answer
      // breaks.
      expect([...views.keys()].filter((view) => !['whole', '429', '503'].includes(view))).toEqual([]);
      expect(views.get('whole')?.length).toBeGreaterThan(accounts.length * 3);
      await expect
        .poll(() => scene().inFlight('capped', 0), { timeout: leaseTtlSeconds * 2_000, interval: 250 })
        .toEqual([0, 0, 0]);
      const all = await Promise.all(
        Array.from({ length: accounts.length * 3 }, (_, n) =>
          scene().askToEnd({ kind: chatStream('capped'), edge: n % 3, length: 10 }),
        ),
      );
      expect(all.map(({ exchange }) => exchange.ending)).toEqual(all.map(() => 'whole'));
    });

    it('leave sessions on their accounts', async () => {
      const sessions = await Promise.all(
        Array.from({ length: 12 }, async () => ({
          headers: { 'session-id': crypto.randomUUID() },
          token: await scene().freshToken(),
        })),
      );
      const accountsOfSessions = async (edges: readonly number[]) => {
        const asked = await Promise.all(
          sessions.map((session, n) =>
            scene().askToEnd({ kind: chatStream('sessions'), edge: edges[n % edges.length] ?? 0, ...session }),
          ),
        );
        expect(asked.map(({ exchange }) => exchange.ending)).toEqual(sessions.map(() => 'whole'));
        return asked.map(({ marker }) => scene().attemptsOf(marker).at(-1)?.account);
      };
      const before = await accountsOfSessions([0, 1, 2]);
      expect(new Set(before).size).toBeGreaterThan(1);
      await scene().replica('pool-broker', 0).kill();
      // The other edges still work; the adapters of the first and the third ask the broker that is
      // away.
      expect(await accountsOfSessions([1])).toEqual(before);
      await scene().replica('pool-broker', 0).restart();
      await scene().replica('pool-broker', 1).restart();
      await Promise.all([scene().answersAgain(0), scene().answersAgain(1)]);
      expect(await accountsOfSessions([1, 0])).toEqual(before);
    });
  });
}

/** More clients than there are slots send requests to every edge until `injection` is over. */
async function underLoad(scene: PoolScene, injection: () => Promise<void>): Promise<readonly Exchange[]> {
  const stop = new AbortController();
  const asked: Exchange[] = [];
  const client = async (edge: number) => {
    const token = await scene.freshToken();
    while (!stop.signal.aborted) {
      const { exchange } = await scene.askToEnd({ kind: chatStream('capped'), edge, length: 10, token });
      asked.push(exchange);
      await sleep(exchange.status === 200 ? answeredPauseMs : refusedPauseMs);
    }
  };
  const clients = Promise.all(Array.from({ length: 12 }, (_, n) => client(n % 3)));
  try {
    await injection();
    await expect.poll(() => asked.length).toBeGreaterThan(50);
  } finally {
    stop.abort();
    await clients;
  }
  return asked;
}

/** The time identifies rows of one token. */
const answeredPauseMs = 20;
/** A refused client does not retry at once. */
const refusedPauseMs = 100;

async function killed(scene: PoolScene, index: number): Promise<void> {
  const broker = scene.replica('pool-broker', index);
  await broker.kill();
  await broker.restart();
  await scene.answersAgain(index);
}

/** Suspended until its edge has given up a call to it. */
async function frozen(scene: PoolScene, index: number): Promise<void> {
  const broker = scene.replica('pool-broker', index);
  await broker.pause();
  const { exchange } = await scene.askToEnd({ kind: chatStream('first'), edge: index });
  expect(exchange.status).toBe(503);
  await broker.resume();
  await scene.answersAgain(index);
}

async function startedAnew(scene: PoolScene, index: number): Promise<void> {
  await scene.replica('pool-broker', index).restart();
  await scene.answersAgain(index);
}
