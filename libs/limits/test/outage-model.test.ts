import { ManualTime } from '@gateway/time/simulated';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { replicaHeartbeatMs } from '../src/replica-share.ts';
import { isAdmitted, mostInAnyMinute, openReplicas, useFakeTimers } from './flaky-replicas.ts';
import { FlakyStore } from './flaky-store.ts';

const isLong = process.env.FAULTS === 'long';

const noonMs = Date.parse('2026-11-20T11:00:00Z');
const probeEveryMs = 250;

const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ verb: fc.constant('admit'), replica: fc.nat(2), repeats: fc.boolean() }) },
  { weight: 5, arbitrary: fc.record({ verb: fc.constant('wait'), ms: fc.integer({ min: 1, max: 25_000 }) }) },
  { weight: 2, arbitrary: fc.record({ verb: fc.constant('take away'), how: fc.constantFrom('before', 'after') }) },
  { weight: 2, arbitrary: fc.record({ verb: fc.constant('give back'), empty: fc.boolean() }) },
);
const plan = fc.record({
  requestsPerMinute: fc.integer({ min: 1, max: 6 }),
  steps: fc.array(step, { minLength: 1, maxLength: 80, size: 'max' }),
});
type Plan = typeof plan extends fc.Arbitrary<infer P> ? P : never;

interface Admitted {
  readonly atMs: number;
  readonly replica: number;
}

/**
 * Runs a plan on several replicas with one store that comes and goes, and returns the admissions by
 * replica.
 */
async function admissionsOf({ requestsPerMinute, steps }: Plan, replicas: number) {
  using time = new ManualTime(noonMs);
  const remote = new FlakyStore();
  await using stores = new AsyncDisposableStack();
  const opened = openReplicas(stores, Array(replicas).fill(remote));
  for (const store of opened) await store.start();
  await vi.advanceTimersByTimeAsync(replicaHeartbeatMs);
  const admitted = new Map<string, Admitted>();
  let requests = 0;
  const admit = async (replica: number, repeats: boolean) => {
    if (!repeats) requests += 1;
    const requestId = `request-${replica}-${requests}`;
    const store = opened[replica];
    const isTaken = store && (await isAdmitted(store, requestId, requestsPerMinute));
    if (isTaken && !admitted.has(requestId)) admitted.set(requestId, { atMs: time.nowMs, replica });
  };
  for (const one of steps) {
    if (one.verb === 'admit') await admit(one.replica % replicas, one.repeats);
    if (one.verb === 'take away') remote.away = one.how === 'before' ? 'before the call' : 'after the call';
    if (one.verb === 'wait') {
      time.advanceMs(one.ms);
      await vi.advanceTimersByTimeAsync(one.ms);
    }
    if (one.verb === 'give back') {
      // Only a store whose outage was noticed gets a hand-over: one that loses its data unnoticed
      // starts new windows.
      if (one.empty && opened.every((store) => store.isAway)) remote.forgetEverything();
      remote.away = 'no';
      time.advanceMs(probeEveryMs);
      await vi.advanceTimersByTimeAsync(probeEveryMs);
    }
  }
  remote.away = 'no';
  return [...admitted.values()];
}

const mostOf = (admitted: readonly Admitted[]) => mostInAnyMinute(admitted.map(({ atMs }) => atMs));

describe('over a store that comes, goes, and comes back empty', () => {
  useFakeTimers();

  it('one replica never admits more than the limit in any 60 seconds', async () => {
    await fc.assert(
      fc.asyncProperty(plan, async (one) => {
        expect(mostOf(await admissionsOf(one, 1))).toBeLessThanOrEqual(one.requestsPerMinute);
      }),
      { numRuns: isLong ? 1_000 : 100 },
    );
  });

  it('none of several replicas does', async () => {
    await fc.assert(
      fc.asyncProperty(plan, async (one) => {
        const admitted = await admissionsOf(one, 3);
        for (const replica of [0, 1, 2]) {
          const own = admitted.filter((each) => each.replica === replica);
          expect(mostOf(own)).toBeLessThanOrEqual(one.requestsPerMinute);
        }
      }),
      { numRuns: isLong ? 1_000 : 100 },
    );
  });

  it('all of them together admit at most the limit, and once more the shares of all but one', async () => {
    await fc.assert(
      fc.asyncProperty(plan, async (one) => {
        const smallestShare = Math.floor(one.requestsPerMinute / 3);
        const bound = 2 * one.requestsPerMinute - smallestShare;
        expect(mostOf(await admissionsOf(one, 3))).toBeLessThanOrEqual(bound);
      }),
      { numRuns: isLong ? 1_000 : 100 },
    );
  });

  it('all of them together admit at most the limit in an outage that began more than a minute after the last request', async () => {
    await fc.assert(
      fc.asyncProperty(plan, async ({ requestsPerMinute, steps }) => {
        const away = { verb: 'take away', how: 'before' } as const;
        const alone = steps.filter(({ verb }) => verb === 'admit' || verb === 'wait');
        const admitted = await admissionsOf({ requestsPerMinute, steps: [away, ...alone] }, 3);
        expect(mostOf(admitted)).toBeLessThanOrEqual(requestsPerMinute);
      }),
      { numRuns: isLong ? 1_000 : 100 },
    );
  });
});
