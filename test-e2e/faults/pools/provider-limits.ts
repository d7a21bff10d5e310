import { setTimeout as sleep } from 'node:timers/promises';
import { roomSeconds } from '@gateway/testkit/room';
import { describe, expect, it } from 'vitest';
import { accountsOf, givenLimits, retryFloorPerSecond } from './gateway-file.ts';
import { chatWhole, messagesWhole } from './kinds.ts';
import type { PoolScene } from './pool-scene.ts';
import { expectItIsBack, faulty } from './provider-refusals.ts';

interface PoolExhausted {
  readonly error: { readonly code: string; readonly retryAt: string };
}

const aSecondMs = 1_000;
/** The period that the budget for further attempts covers. */
const budgetWindowMs = 10_000;

/** Providers that limit their accounts, and providers that fail as a whole. */
export function providerLimits(scene: () => PoolScene, { outageSeconds }: { readonly outageSeconds: number }): void {
  describe('accounts that are all limited', () => {
    it.concurrent.each(givenLimits)(
      'are a 429 with the earliest end, and a client that waits exactly until then is served: $preset',
      async ({ preset }) => {
        const pool = `given-${preset}` as const;
        const [first = '', second = ''] = accountsOf(pool);
        const { faults } = scene().simulator;
        faults.add({ account: first, fault: { preset, resetAfterSeconds: 60 } });
        const id = faults.add({ account: second, fault: { preset, resetAfterSeconds: roomSeconds(4) } });
        const endsAtMs = faults.list().find((fault) => fault.id === id)?.endsAtMs ?? Number.NaN;
        const { exchange } = await scene().askToEnd({ kind: chatWhole(pool) });
        expect(exchange.status).toBe(429);
        const { error } = exchange.json as PoolExhausted;
        expect(error.code).toBe('pool_exhausted');
        // Providers report it in whole seconds from their "now", which takes time to reach us.
        const underWayMs = exchange.endedMs - exchange.startedMs;
        expect(Math.abs(Date.parse(error.retryAt) - endsAtMs)).toBeLessThanOrEqual(aSecondMs + underWayMs);
        await sleep(Number(exchange.headers['retry-after']) * 1_000);
        expect((await scene().askToEnd({ kind: chatWhole(pool) })).exchange.ending).toBe('whole');
        // No account was asked while it was known to be limited.
        expect(scene().generationsOf(first)).toHaveLength(1);
      },
    );
  });

  describe('accounts that are limited', () => {
    it('are passed over for those that are not, each after one attempt', async () => {
      const [free = '', ...limited] = accountsOf('limited');
      for (const account of limited) {
        scene().simulator.faults.add({
          account,
          fault: { preset: 'rate_limited_retry_after', resetAfterSeconds: 600 },
        });
      }
      for (let n = 0; n < 8; n++) {
        expect((await scene().askToEnd({ kind: chatWhole('limited'), edge: n % 3 })).exchange.ending).toBe('whole');
      }
      for (const account of limited) expect(scene().generationsOf(account).length).toBeLessThanOrEqual(1);
      expect(scene().generationsOf(free).length).toBeGreaterThanOrEqual(8);
    });

    it('without a word of when it ends are a 429, and are tried again soon', async () => {
      const limits = faulty(scene(), 'guessed', { preset: 'rate_limited' });
      const { exchange } = await scene().askToEnd({ kind: chatWhole('guessed') });
      expect(exchange.status).toBe(429);
      expect((exchange.json as PoolExhausted).error.code).toBe('pool_exhausted');
      limits[Symbol.dispose]();
      await expectItIsBack(scene(), chatWhole('guessed'));
    });
  });

  describe.each([
    ['broken', 'server_error', chatWhole('broken')],
    ['overloaded', 'overloaded', messagesWhole('overloaded')],
  ] as const)('a provider of the pool "%s" of which every account fails: %s', (pool, preset, kind) => {
    it('gets no more further attempts than a tenth of the load, from all brokers together', async () => {
      await expectItIsBack(scene(), kind);
      const outage = faulty(scene(), pool, { preset });
      const sinceMs = Date.now();
      const statuses: (number | undefined)[] = [];
      const isOver = () => Date.now() - sinceMs > outageSeconds * 1_000 && statuses.length > 50;
      const client = async (edge: number) => {
        const token = await scene().freshToken();
        while (!isOver()) {
          const { exchange } = await scene().askToEnd({ kind, edge, token });
          statuses.push(exchange.status);
          await sleep(20);
        }
      };
      await Promise.all(Array.from({ length: 12 }, (_, n) => client(n % 3)));
      const lastedMs = Date.now() - sinceMs;
      const injected = accountsOf(pool)
        .flatMap((account) => scene().generationsOf(account))
        .filter(({ receivedAtMs }) => receivedAtMs >= sinceMs);
      const tried = Map.groupBy(injected, ({ body }) => markerIn(body));
      const further = injected.length - tried.size;
      process.stdout.write(
        `${pool}: ${statuses.length} requests, ${tried.size} of them tried, ${further} further attempts\n`,
      );
      outage[Symbol.dispose]();
      // On Messages the provider's own status is forwarded, while it is asked; a pool that pauses
      // is a 503.
      expect([...new Set(statuses)].filter((status) => status !== 503 && status !== 529)).toEqual([]);
      // Each broker counts the load of its last ten seconds, on any pool, and has a minimum of its
      // own.
      const load = scene().requestsSince(sinceMs - budgetWindowMs);
      const floor = (3 * retryFloorPerSecond * (lastedMs + budgetWindowMs)) / 1_000;
      expect(further).toBeLessThanOrEqual(floor + 0.1 * load);
      expect(Math.max(0, ...[...tried.values()].map(({ length }) => length))).toBeLessThanOrEqual(3);
      await expectItIsBack(scene(), kind);
    });
  });
}

function markerIn(body: Uint8Array): string | undefined {
  return /marker-[0-9a-f-]{36}/.exec(Buffer.from(body).toString())?.[0];
}
