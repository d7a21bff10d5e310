import { RpcError } from '@gateway/rpc';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Patience } from './patience.ts';

describe('the patience of a request', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('lasts for all its decisions together, and for nothing between them', async () => {
    const patience = new Patience(1_000);
    const first = patience.within(() => later(600));
    vi.advanceTimersByTime(600);
    await first;
    vi.advanceTimersByTime(60_000);
    const second = patience.within(() => later(399));
    vi.advanceTimersByTime(399);
    await second;
    const third = patience.within(() => later(1_000));
    vi.advanceTimersByTime(2);
    await expect(third).rejects.toMatchObject({ status: 'deadline_exceeded' });
  });

  it('gives up on a decision without cancelling it', async () => {
    const decision = Promise.withResolvers<string>();
    const kept: string[] = [];
    const waiting = new Patience(1_000).within(() => decision.promise.then((answer) => void kept.push(answer)));
    vi.advanceTimersByTime(1_001);
    await expect(waiting).rejects.toBeInstanceOf(RpcError);
    decision.resolve('late');
    await expect.poll(() => kept).toEqual(['late']);
  });

  it('never ends where no other machine decides', async () => {
    const patience = new Patience(Number.POSITIVE_INFINITY);
    const waiting = patience.within(() => later(3_600_000));
    vi.advanceTimersByTime(3_600_000);
    expect(await waiting).toBe('decided');
  });
});

function later(durationMs: number): Promise<string> {
  return new Promise((resolve) => {
    setTimeout(() => resolve('decided'), durationMs);
  });
}
