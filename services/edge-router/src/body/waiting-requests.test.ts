import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { BodyMemory } from './body-memory.ts';

describe('BodyMemory, whatever happens in whatever order', () => {
  const token = fc.constantFrom('a', 'b', 'c');
  const which = fc.nat({ max: 9 });
  const steps = fc.array(
    fc.oneof(
      fc.record({ kind: fc.constant('take' as const), which, bytes: fc.integer({ min: 1, max: 40 }) }),
      fc.record({ kind: fc.constant('dispose' as const), which }),
      fc.record({ kind: fc.constant('leave' as const), which }),
      fc.record({ kind: fc.constant('decode' as const), which, brief: fc.boolean() }),
      fc.record({ kind: fc.constant('time' as const), ms: fc.constantFrom(1, 10, 40) }),
    ),
    { maxLength: 60, size: 'max' },
  );

  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  it('holds its limit, forgets no request and gets everything back', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(token, { minLength: 10, maxLength: 10 }), steps, async (tokens, sequence) => {
        const memory = new BodyMemory({ limitBytes: 100, largestBodyBytes: 60, waitMs: 50 });
        const clients = tokens.map(() => new AbortController());
        const open = (n: number) => memory.open(tokens[n] ?? '', (clients[n] ?? new AbortController()).signal);
        const requests = tokens.map((_token, n) => open(n));
        const busy = new Set<number>();
        const ends: Promise<unknown>[] = [];
        let permits = new DisposableStack();
        for (const step of sequence) {
          if (step.kind === 'time') {
            await vi.advanceTimersByTimeAsync(step.ms);
            continue;
          }
          const request = requests[step.which];
          if (request === undefined) continue;
          if (step.kind === 'dispose' && !busy.has(step.which)) request[Symbol.dispose]();
          if (step.kind === 'leave') clients[step.which]?.abort();
          if (step.kind === 'take' && !busy.has(step.which)) {
            busy.add(step.which);
            const taken = request.take(step.bytes).catch((thrown: unknown) => {
              expect(thrown).toMatchObject({ code: 'providers_unavailable' });
            });
            ends.push(taken.finally(() => busy.delete(step.which)));
          }
          if (step.kind === 'decode') {
            const permit = request.decodingPermit(new AbortController().signal);
            ends.push(permit.then((given) => permits.use(given)).catch(() => undefined));
          }
          if (step.kind === 'decode' && step.brief) {
            permits.dispose();
            permits = new DisposableStack();
          }
          await vi.advanceTimersByTimeAsync(0);
          expect(memory.usedBytes).toBe(requests.reduce((sum, { bytes }) => sum + bytes, 0));
          expect(memory.usedBytes).toBeLessThanOrEqual(100);
        }
        await vi.advanceTimersByTimeAsync(50);
        await Promise.all(ends);
        expect(memory.waiting).toBe(0);
        for (const request of requests) request[Symbol.dispose]();
        permits.dispose();
        expect(memory.usedBytes).toBe(0);
        using all = open(0);
        if (clients[0]?.signal.aborted !== true) await all.take(60);
      }),
      { numRuns: 200 },
    );
  });
});

describe('BodyMemory with thousands of requests that wait', () => {
  const MiB = 1024 * 1024;
  const patient = new AbortController();

  /** Counts how often a request's token or number is read. */
  function countVisits(allocation: object, visited: () => void): void {
    // They are properties of the request itself or of its owner.
    for (const holder of [allocation, Reflect.get(allocation, 'owner') ?? {}]) {
      for (const name of ['tokenId', 'number']) {
        const value: unknown = Reflect.get(holder, name);
        if (value === undefined) continue;
        Object.defineProperty(holder, name, {
          get: () => {
            visited();
            return value;
          },
        });
      }
    }
  }

  it.each([
    ['of one token', () => 'waiting'],
    ['of as many tokens', (n: number) => `waiting ${n}`],
    ['of a few tokens', (n: number) => `waiting ${n % 7}`],
  ])('looks at few of them at each change: %s', async (_whose, tokenOf) => {
    const memory = new BodyMemory({ limitBytes: 128 * MiB, largestBodyBytes: 64 * MiB, waitMs: 60_000 });
    using first = memory.open('first', patient.signal);
    using second = memory.open('second', patient.signal);
    await first.take(64 * MiB);
    await second.take(64 * MiB - 4 * changes);
    const brief = Array.from({ length: changes }, (_, n) => memory.open(`brief ${n % 3}`, patient.signal));
    for (const allocation of brief) await allocation.take(4);
    let visits = 0;
    const requests = Array.from({ length: 4_000 }, (_, n) => {
      const request = memory.open(tokenOf(n), patient.signal);
      countVisits(request, () => {
        visits += 1;
      });
      return request;
    });
    const served = requests.map((request) => request.take(16 * 1024));
    expect(memory.waiting).toBe(4_000);
    expect(visits / requests.length).toBeLessThan(maxVisits);
    visits = 0;
    // Room becomes free, but never enough for one of them.
    for (const allocation of brief) allocation[Symbol.dispose]();
    expect(memory.waiting).toBe(4_000);
    expect(visits / changes).toBeLessThan(maxVisits);
    visits = 0;
    first[Symbol.dispose]();
    await Promise.all(served);
    expect(visits / requests.length).toBeLessThan(maxVisits);
    for (const request of requests) request[Symbol.dispose]();
    expect(memory.usedBytes).toBe(64 * MiB - 4 * changes);
  });
});

const changes = 500;
/** For each arriving request, each change, and each request that is served. */
const maxVisits = 60;
