import { create } from '@bufbuild/protobuf';
import { GatewayError } from '@gateway/errors';
import { TokenKind, TokenSchema } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { AdmissionDecision } from './admit.ts';
import { LeaseQueue } from './lease-queue.ts';

const group = { groupId: 'g', limits: { concurrentRequests: 1 } };
const [one, other] = ['a', 'b'].map((tokenId) => create(TokenSchema, { tokenId, kind: TokenKind.SERVICE, group }));
const free = create(TokenSchema, { tokenId: 'c', kind: TokenKind.SERVICE, limits: { requestsPerMinute: 1 } });
const admitted: AdmissionDecision = { admittedAtMs: 0, localDay: '2026-11-20', headers: {} };
const refusedBy = (limit: 'concurrency' | 'budget'): AdmissionDecision => ({
  ...admitted,
  refusal: new GatewayError('rate_limit_exceeded', 'No.', { limit }),
});

/** A limiter with so many free leases. */
function world(waitMs = 5_000) {
  const queue = new LeaseQueue(waitMs);
  const state = { leases: 0, asked: [] as string[] };
  const order: string[] = [];
  const send = (name: string, token = one ?? free, signal = new AbortController().signal) => {
    const ask = async () => {
      state.asked.push(name);
      if (state.leases === 0) return refusedBy('concurrency');
      state.leases -= 1;
      return admitted;
    };
    const decision = queue.admit({ token, signal, ask });
    void decision.then(({ refusal }) => order.push(refusal === undefined ? name : `${name} refused`));
    return decision;
  };
  return { queue, state, order, send };
}

/** A token whose own limit counts its requests at a time. */
function ownLimit(tokenId: string) {
  return create(TokenSchema, { tokenId, limits: { concurrentRequests: 1 } });
}

describe('requests that find no lease', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('wait, and are admitted in the order in which they came, whatever their token', async () => {
    const { queue, state, order, send } = world();
    for (const [name, token] of [
      ['1', one],
      ['2', other],
      ['3', one],
    ] as const) {
      send(name, token);
      await vi.advanceTimersByTimeAsync(1);
    }
    expect(queue.size).toBe(3);
    for (let lease = 1; lease <= 3; lease++) {
      state.leases = 1;
      await vi.advanceTimersByTimeAsync(200);
      expect(order).toHaveLength(lease);
    }
    expect(order).toEqual(['1', '2', '3']);
    expect(queue.size).toBe(0);
  });

  it('are not overtaken by one that comes when a lease is free', async () => {
    const { state, order, send } = world();
    send('first');
    await vi.advanceTimersByTimeAsync(10);
    state.leases = 1;
    send('late');
    await vi.advanceTimersByTimeAsync(150);
    expect(order).toEqual(['first']);
  });

  it('are refused after their time, and those behind them wait for the rest of theirs', async () => {
    const { state, order, send } = world();
    send('1');
    await vi.advanceTimersByTimeAsync(4_000);
    send('2');
    await vi.advanceTimersByTimeAsync(1_000);
    expect(order).toEqual(['1 refused']);
    state.leases = 1;
    await vi.advanceTimersByTimeAsync(200);
    expect(order).toEqual(['1 refused', '2']);
  });

  it('leave the queue when their client does', async () => {
    const { queue, state, order, send } = world();
    const client = new AbortController();
    send('1', one, client.signal);
    send('2');
    await vi.advanceTimersByTimeAsync(50);
    client.abort();
    await vi.advanceTimersByTimeAsync(150);
    state.leases = 1;
    await vi.advanceTimersByTimeAsync(150);
    expect(order).toEqual(['1 refused', '2']);
    expect(queue.size).toBe(0);
  });

  it('are refused at once if as many wait as may, or if none may', async () => {
    const { queue, order, send } = world();
    for (let n = 0; n < 1_000; n++) send(`${n}`, ownLimit(`token ${n % 10}`));
    await vi.advanceTimersByTimeAsync(1);
    expect(queue.size).toBe(1_000);
    await send('one too many', ownLimit('another'));
    expect(order).toEqual(['one too many refused']);
    const none = world(0);
    await none.send('1');
    expect(none.order).toEqual(['1 refused']);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(queue.size).toBe(0);
  });

  it('leave room for those of other tokens', async () => {
    const { queue, order, send } = world();
    for (let n = 0; n < 101; n++) send(`${n}`);
    await vi.advanceTimersByTimeAsync(1);
    expect([queue.size, order]).toEqual([100, ['100 refused']]);
    send('other', ownLimit('other'));
    await vi.advanceTimersByTimeAsync(1);
    expect(queue.size).toBe(101);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(queue.size).toBe(0);
  });

  it('wait for nothing else: not for a budget, and not without a limit of requests at a time', async () => {
    const { queue, state } = world();
    const signal = new AbortController().signal;
    const spent = await queue.admit({ token: one ?? free, signal, ask: async () => refusedBy('budget') });
    expect(spent.refusal?.limit).toBe('budget');
    const unlimited = await queue.admit({ token: free, signal, ask: async () => refusedBy('concurrency') });
    expect(unlimited.refusal).toBeDefined();
    expect([queue.size, state.asked]).toEqual([0, []]);
  });
});
