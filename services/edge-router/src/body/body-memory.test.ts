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
    // The other request waits for the memory that this one holds.
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
