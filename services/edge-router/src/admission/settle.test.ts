import { LimiterService, type SettleRequest } from '@gateway/proto/limiter/v2/limiter_service_pb.js';
import { directClient, RpcError, serviceRoute } from '@gateway/rpc';
import { describe, expect, it, vi } from 'vitest';
import { OutageTolerantLimiter } from './outage-tolerant-limiter.ts';

function setUp() {
  const settled: SettleRequest[] = [];
  const state = { away: false };
  const refuse = () => {
    throw new Error('not expected here');
  };
  const limiter = directClient(
    serviceRoute(LimiterService, {
      admit: refuse,
      peek: refuse,
      heartbeat: refuse,
      reserve: refuse,
      renew: refuse,
      admitStream: refuse,
      settle: (request) => {
        if (state.away) throw new RpcError('unavailable', 'away');
        settled.push(request);
        return { usedTokens: 100 };
      },
    }),
  );
  const ignore = () => undefined;
  const faulted = vi.fn();
  const limiterAway = vi.fn();
  const settleKept = vi.fn();
  const events = { limiterAway, limiterBack: ignore, admittedLocally: ignore, settleKept, faulted };
  const charger = new OutageTolerantLimiter({
    limiter,
    events,
    patienceMs: 1_000,
    failureMode: 'local',
    localMaxMs: 1_000,
  });
  return { charger, settled, state, limiterAway, settleKept, faulted };
}

const charge = (requestId: string) => ({ key: 'token:t', requestId, localDay: '2026-11-20', tokens: 7 });

describe('a charge to the day budget', () => {
  it('has charged when it resolves', async () => {
    const { charger, settled } = setUp();
    await charger.settle(charge('r1'));
    expect(settled).toMatchObject([
      { key: 'token:t', requestId: 'r1', localDay: '2026-11-20', tokens: 7, late: false },
    ]);
    await charger[Symbol.asyncDispose]();
  });

  it('does not delay the request while the limiter is away, and charges under the same id when it is back', async () => {
    const { charger, settled, state, limiterAway, settleKept, faulted } = setUp();
    state.away = true;
    await charger.settle(charge('r1'));
    await charger.settle(charge('r2'));
    expect(settled).toEqual([]);
    // The outage is logged once, and each waiting charge is counted.
    expect(limiterAway).toHaveBeenCalledTimes(1);
    expect(settleKept).toHaveBeenCalledTimes(2);
    expect(faulted).not.toHaveBeenCalled();
    state.away = false;
    await expect.poll(() => settled.map(({ requestId }) => requestId)).toEqual(['r1', 'r2']);
    // The ledger may have these requests already.
    expect(settled).toMatchObject([{ late: true }, { late: true }]);
    await charger[Symbol.asyncDispose]();
  });
});
