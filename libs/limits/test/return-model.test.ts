import { ManualTime } from '@gateway/time/simulated';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { replicaHeartbeatMs } from '../src/replica-share.ts';
import { isAdmitted, mostInAnyMinute, openReplicas, useFakeTimers } from './flaky-replicas.ts';
import { type Away, FlakyStore } from './flaky-store.ts';

const noonMs = Date.parse('2026-11-20T11:00:00Z');
/** The resolution of times in a plan. */
const tickMs = 10;
/**
 * All replicas return within this time after the first, including the last one's probe; the first
 * waits at least as long.
 */
const mostApartMs = 1_000;

/** A burst of concurrent requests at one of the replicas. */
const burst = fc.record({ atMs: fc.nat(4_000), replica: fc.nat(3), count: fc.integer({ min: 1, max: 8 }) });
const plan = fc.record({
  replicas: fc.integer({ min: 2, max: 4 }),
  requestsPerMinute: fc.integer({ min: 1, max: 24 }),
  how: fc.constantFrom<Away>('before the call', 'after the call', 'until it goes on'),
  isEmptied: fc.boolean(),
  awayMs: fc.integer({ min: replicaHeartbeatMs, max: 70_000 }),
  /**
   * For each replica: when it reaches the store again after the first could, and how long the store
   * takes to record its hand-over.
   */
  returnsAfterMs: fc.array(fc.nat(mostApartMs), { minLength: 4, maxLength: 4 }),
  recordingMs: fc.array(fc.nat(150), { minLength: 4, maxLength: 4 }),
  during: fc.array(burst, { maxLength: 12, size: 'max' }),
  /** Starts when the first replica reaches the store again. */
  after: fc.array(burst, { minLength: 1, maxLength: 20, size: 'max' }),
});
type Plan = typeof plan extends fc.Arbitrary<infer P> ? P : never;

/**
 * Makes a store unreachable for several replicas that were idle for a minute, and reachable again
 * for each at its own time. Returns when requests were admitted.
 */
async function admissionsOf(given: Plan): Promise<readonly number[]> {
  using time = new ManualTime(noonMs);
  const server = new FlakyStore();
  const links = Array.from({ length: given.replicas }, () => new FlakyStore(server));
  await using stores = new AsyncDisposableStack();
  const replicas = openReplicas(stores, links);
  const admittedAtMs: number[] = [];
  let requests = 0;
  const pass = async (ms: number) => {
    time.advanceMs(ms);
    await vi.advanceTimersByTimeAsync(ms);
  };
  const ask = async (replica: number) => {
    const store = replicas[replica % given.replicas];
    requests += 1;
    const isTaken = store && (await isAdmitted(store, `request-${requests}`, given.requestsPerMinute));
    if (isTaken) admittedAtMs.push(time.nowMs);
  };
  /** Advances time while bursts arrive and connections are restored. */
  const run = async (forMs: number, bursts: readonly (typeof burst extends fc.Arbitrary<infer B> ? B : never)[]) => {
    const asked: Promise<void>[] = [];
    for (let atMs = 0; atMs < forMs; atMs += tickMs) {
      const due = bursts.filter((each) => each.atMs >= atMs && each.atMs < atMs + tickMs);
      for (const { replica, count } of due) for (let n = 0; n < count; n++) asked.push(ask(replica));
      await pass(tickMs);
    }
    await Promise.all(asked);
  };

  for (const replica of replicas) await replica.start();
  await pass(replicaHeartbeatMs);
  for (const link of links) link.away = given.how;
  // Each detects the outage by its next heartbeat.
  await pass(replicaHeartbeatMs);
  await run(4_000, given.during);
  await pass(given.awayMs);
  if (given.isEmptied) server.forgetEverything();
  const first = Math.min(...given.returnsAfterMs.slice(0, given.replicas));
  for (const [n, link] of links.entries()) {
    link.beforeRecording = () => new Promise((resolve) => setTimeout(resolve, given.recordingMs[n]));
    setTimeout(
      () => {
        link.away = 'no';
      },
      (given.returnsAfterMs[n] ?? 0) - first,
    );
  }
  await run(4_000 + mostApartMs, given.after);
  for (const replica of replicas) expect(replica.isAway).toBe(false);
  // Whatever was handed over, nothing more may be admitted beyond the limit.
  for (let n = 0; n < 2 * given.requestsPerMinute; n++) await ask(n);
  return admittedAtMs;
}

describe('replicas that reach their store again one after the other', () => {
  useFakeTimers();

  it('together admit at most the limit in any 60 seconds of the outage and of its end', async () => {
    await fc.assert(
      fc.asyncProperty(plan, async (one) => {
        expect(mostInAnyMinute(await admissionsOf(one))).toBeLessThanOrEqual(one.requestsPerMinute);
      }),
      { numRuns: process.env.FAULTS === 'long' ? 1_000 : 60 },
    );
  });
});
