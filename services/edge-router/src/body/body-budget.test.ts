import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { BodyBudget } from './body-budget.ts';

describe('BodyBudget', () => {
  const waitMs = 5_000;
  const patient = new AbortController();
  const noRoom = expect.objectContaining({ code: 'providers_unavailable' });
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  it('counts what is held, until it is given back', async () => {
    const budget = new BodyBudget({ limitBytes: 100, waitMs });
    const hold = budget.hold(patient);
    await hold.reserve(60);
    hold.growTo(40);
    expect(budget.heldBytes).toBe(60);
    hold.growTo(80);
    expect(budget.heldBytes).toBe(80);
    hold[Symbol.dispose]();
    hold[Symbol.dispose]();
    expect(budget.heldBytes).toBe(0);
  });

  it('lets requests wait for room, in the order in which they came', async () => {
    const budget = new BodyBudget({ limitBytes: 100, waitMs });
    const first = budget.hold(patient);
    await first.reserve(100);
    const admitted: string[] = [];
    const large = budget.hold(patient);
    const small = budget.hold(patient);
    const largeWaits = Promise.resolve(large.reserve(90)).then(() => admitted.push('large'));
    const smallWaits = Promise.resolve(small.reserve(20)).then(() => admitted.push('small'));
    first[Symbol.dispose]();
    await largeWaits;
    expect(admitted).toEqual(['large']);
    large[Symbol.dispose]();
    await smallWaits;
    expect(budget.heldBytes).toBe(20);
  });

  it('refuses a request that has waited too long, and lets those behind it in', async () => {
    const budget = new BodyBudget({ limitBytes: 100, waitMs });
    await budget.hold(patient).reserve(60);
    const refused = expect(budget.hold(patient).reserve(90)).rejects.toEqual(noRoom);
    await vi.advanceTimersByTimeAsync(waitMs - 1);
    const behind = budget.hold(patient).reserve(40);
    await vi.advanceTimersByTimeAsync(1);
    await refused;
    await behind;
    expect(budget.heldBytes).toBe(100);
  });

  it('forgets a request whose client has left', async () => {
    const budget = new BodyBudget({ limitBytes: 100, waitMs });
    const first = budget.hold(patient);
    await first.reserve(100);
    const client = new AbortController();
    const left = expect(budget.hold(client).reserve(50)).rejects.toEqual(noRoom);
    client.abort();
    await left;
    first[Symbol.dispose]();
    expect(budget.heldBytes).toBe(0);
  });

  it('refuses at once what can never fit, and what grows over the limit', async () => {
    const budget = new BodyBudget({ limitBytes: 100, waitMs });
    await expect(budget.hold(patient).reserve(101)).rejects.toEqual(noRoom);
    const growing = budget.hold(patient);
    await growing.reserve(60);
    expect(() => growing.growTo(101)).toThrow(noRoom);
    expect(budget.heldBytes).toBe(60);
  });
});
