import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { BodyMemory } from './body-memory.ts';

describe('BodyMemory', () => {
  const waitMs = 5_000;
  const patient = new AbortController();
  const noRoom = expect.objectContaining({ code: 'providers_unavailable' });
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  const memoryOf = (limitBytes: number, largestBodyBytes = 10) =>
    new BodyMemory({ limitBytes, largestBodyBytes, waitMs });
  const open = (memory: BodyMemory, tokenId: string, client = patient) => memory.open(tokenId, client.signal);

  it('counts what is taken, until it is given back', async () => {
    const memory = memoryOf(100);
    const allocation = open(memory, 'a');
    expect(memory.usedBytes).toBe(0);
    await allocation.take(30);
    await allocation.take(10);
    expect(memory.usedBytes).toBe(40);
    allocation[Symbol.dispose]();
    allocation[Symbol.dispose]();
    expect(memory.usedBytes).toBe(0);
  });

  it('gives room to the oldest request first, whichever asked first', async () => {
    const memory = memoryOf(100);
    const oldest = open(memory, 'a');
    const young = open(memory, 'b');
    using full = open(memory, 'c');
    using fuller = open(memory, 'd');
    await full.take(50);
    await fuller.take(50);
    const served: string[] = [];
    const youngWaits = young.take(40).then(() => served.push('young'));
    const oldestWaits = oldest.take(50).then(() => served.push('oldest'));
    full[Symbol.dispose]();
    await oldestWaits;
    expect(served).toEqual(['oldest']);
    fuller[Symbol.dispose]();
    await youngWaits;
    expect(memory.usedBytes).toBe(90);
  });

  it('lets nothing overtake a request that waits for more room than there is', async () => {
    const memory = memoryOf(100);
    using first = open(memory, 'a');
    using second = open(memory, 'b');
    await first.take(50);
    await second.take(40);
    let served = false;
    const large = open(memory, 'c')
      .take(20)
      .then(() => (served = true));
    const small = open(memory, 'd').take(5);
    await vi.advanceTimersByTimeAsync(1);
    expect(served).toBe(false);
    second[Symbol.dispose]();
    await Promise.all([large, small]);
    expect(memory.usedBytes).toBe(75);
  });

  it('refuses a request that has waited too long in all, and lets those behind it in', async () => {
    const memory = memoryOf(100);
    using first = open(memory, 'a');
    using second = open(memory, 'b');
    await first.take(50);
    await second.take(40);
    const waiting = open(memory, 'c');
    const once = waiting.take(20);
    await vi.advanceTimersByTimeAsync(3_000);
    second[Symbol.dispose]();
    await once;
    await second.take(30);
    const refused = expect(waiting.take(20)).rejects.toEqual(noRoom);
    await vi.advanceTimersByTimeAsync(1_990);
    const behind = open(memory, 'd').take(0);
    await vi.advanceTimersByTimeAsync(20);
    await refused;
    await behind;
    expect(waiting.waitedMs).toBeGreaterThanOrEqual(5_000);
    expect(memory.usedBytes).toBe(100);
  });

  it('forgets a request whose client has left', async () => {
    const memory = memoryOf(100);
    using first = open(memory, 'a');
    using second = open(memory, 'b');
    await first.take(50);
    await second.take(50);
    const client = new AbortController();
    const left = expect(open(memory, 'c', client).take(50)).rejects.toEqual(noRoom);
    client.abort();
    await left;
    first[Symbol.dispose]();
    expect(memory.usedBytes).toBe(50);
  });

  it('keeps the last quarter from a token that has more than half', async () => {
    const memory = memoryOf(100);
    using alone = open(memory, 'a');
    await alone.take(50);
    await alone.take(25);
    const refused = expect(alone.take(1)).rejects.toEqual(noRoom);
    using other = open(memory, 'b');
    await other.take(25);
    await vi.advanceTimersByTimeAsync(waitMs);
    await refused;
  });

  it('refuses a token more than its share at once while another waits for room', async () => {
    const memory = memoryOf(100);
    const large = open(memory, 'a');
    await large.take(75);
    const other = open(memory, 'b');
    await other.take(25);
    const waiting = other.take(10);
    // What it holds so far is what the other waits for.
    await expect(large.take(1)).rejects.toEqual(noRoom);
    large[Symbol.dispose]();
    await waiting;
    expect(memory.usedBytes).toBe(35);
  });

  it('refuses one that waits beyond its share as soon as another needs room', async () => {
    const memory = memoryOf(100);
    const large = open(memory, 'a');
    await large.take(75);
    const refused = expect(large.take(5)).rejects.toEqual(noRoom);
    const other = open(memory, 'b');
    await other.take(25);
    const waiting = other.take(10);
    await refused;
    large[Symbol.dispose]();
    await waiting;
  });

  it('does not keep others waiting for a token that waits for its own requests', async () => {
    const memory = memoryOf(100);
    using many = open(memory, 'a');
    await many.take(70);
    const more = open(memory, 'a').take(10);
    await open(memory, 'b').take(20);
    many[Symbol.dispose]();
    await more;
  });

  it('gives all requests of a token one share, and each token its own', async () => {
    const memory = memoryOf(100);
    using first = open(memory, 'a');
    using second = open(memory, 'a');
    using other = open(memory, 'b');
    await first.take(30);
    await other.take(50);
    await second.take(20);
    const refused = expect(second.take(1)).rejects.toEqual(noRoom);
    await vi.advanceTimersByTimeAsync(waitMs);
    await refused;
  });

  it('has room for the largest body, however little memory there is', async () => {
    const memory = memoryOf(64, 64);
    using body = open(memory, 'a');
    await body.take(64);
    expect(memory.usedBytes).toBe(64);
  });

  it('lets a token decode two bodies at a time, and others theirs', async () => {
    const memory = memoryOf(100);
    const { signal } = patient;
    const first = await open(memory, 'a').decodingPermit(signal);
    const second = await open(memory, 'a').decodingPermit(signal);
    let third: Disposable | undefined;
    const waits = open(memory, 'a')
      .decodingPermit(signal)
      .then((permit) => (third = permit));
    using _other = await open(memory, 'b').decodingPermit(signal);
    expect(third).toBeUndefined();
    first[Symbol.dispose]();
    using _third = await waits;
    second[Symbol.dispose]();
    using _fourth = await open(memory, 'a').decodingPermit(signal);
  });

  it('lets those who wait to decode go on in order', async () => {
    const memory = memoryOf(100);
    const permit = () => open(memory, 'a').decodingPermit(patient.signal);
    const first = await permit();
    using _second = await permit();
    const served: number[] = [];
    const third = permit().then((given) => [served.push(3), given] as const);
    const fourth = permit().then((given) => [served.push(4), given] as const);
    await vi.advanceTimersByTimeAsync(1);
    expect(served).toEqual([]);
    first[Symbol.dispose]();
    const [, given] = await third;
    expect(served).toEqual([3]);
    given[Symbol.dispose]();
    await fourth;
  });

  it('refuses one that waits too long to decode, or is aborted, which costs those behind it nothing', async () => {
    const memory = memoryOf(100);
    const permit = (signal = patient.signal) => open(memory, 'a').decodingPermit(signal);
    const first = await permit();
    using _second = await permit();
    const impatient = new AbortController();
    const refused = expect(permit(impatient.signal)).rejects.toEqual(noRoom);
    impatient.abort();
    await refused;
    await expect(permit(AbortSignal.abort())).rejects.toEqual(noRoom);
    const late = expect(permit()).rejects.toEqual(noRoom);
    await vi.advanceTimersByTimeAsync(waitMs);
    await late;
    const behind = permit();
    first[Symbol.dispose]();
    using _behind = await behind;
  });
});

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
    { maxLength: 60 },
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

  /** A request whose token and number are counted as often as they are looked at. */
  function countVisits(allocation: object, visited: () => void): void {
    // What it is known by is in itself, or in its owner.
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
    expect(visits / requests.length).toBeLessThan(mostVisits);
    visits = 0;
    // Room is given back, but never enough for one of them.
    for (const allocation of brief) allocation[Symbol.dispose]();
    expect(memory.waiting).toBe(4_000);
    expect(visits / changes).toBeLessThan(mostVisits);
    visits = 0;
    first[Symbol.dispose]();
    await Promise.all(served);
    expect(visits / requests.length).toBeLessThan(mostVisits);
    for (const request of requests) request[Symbol.dispose]();
    expect(memory.usedBytes).toBe(64 * MiB - 4 * changes);
  });
});

const changes = 500;
/** For each request that comes, for each change, and for each request that is served. */
const mostVisits = 60;
