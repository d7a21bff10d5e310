import { create } from '@bufbuild/protobuf';
import { GatewayError } from '@gateway/errors';
import type { Check, Settlement } from '@gateway/limits';
import { CostKind, LimitStatusSchema } from '@gateway/proto/limiter/v2/limit_pb.js';
import { createLogger, Metrics } from '@gateway/telemetry';
import { describe, expect, it } from 'vitest';
import { createEvents } from '../events.ts';
import { plainLimiter } from './admit.ts';

const settings = { admissionPatienceMs: 1, limiterFailureMode: 'local', limiterLocalMaxMs: 1 } as const;

/** A limiter in this process, whose answers `state` defines. */
function setUp() {
  const state = { fails: false };
  const answer = <T>(given: T): T => {
    if (state.fails) throw new GatewayError('internal_error', 'It does not answer.');
    return given;
  };
  const limits = {
    admit: async ({ key, requestId }: Check) => {
      return answer({ status: create(LimitStatusSchema, { localDay: requestId || key }) });
    },
    settle: async ({ tokens }: Settlement) => answer({ usedTokens: tokens, isLoaded: true }),
    reserve: async () => undefined,
    renew: async () => undefined,
  };
  const metrics = new Metrics();
  const events = createEvents({ logger: createLogger('edge-router', 'silent'), metrics });
  return { state, metrics, limiter: plainLimiter(limits)({ config: settings, events }) };
}

const check = { key: 'k', requestId: 'r', costKind: CostKind.REQUEST_ONLY };
const settlement = { key: 'k', requestId: 'r', localDay: '2026-11-20', tokens: 7 };

describe('a limiter in the process of the edge', () => {
  it('decides what it is asked', async () => {
    const { limiter } = setUp();
    expect(await limiter.admit(check)).toMatchObject({ status: { localDay: 'r' } });
    expect(await limiter.peek({ key: 'k' })).toMatchObject({ localDay: 'k' });
  });

  it('alone decides: nothing is admitted without it', async () => {
    const { limiter, state } = setUp();
    await limiter.admit(check);
    state.fails = true;
    await expect(limiter.admit(check)).rejects.toMatchObject({ code: 'internal_error' });
    await expect(limiter.peek({ key: 'k' })).rejects.toMatchObject({ code: 'internal_error' });
  });

  it('fails no request by a charge that it does not take, which is counted', async () => {
    const { limiter, state, metrics } = setUp();
    state.fails = true;
    await limiter.settle(settlement);
    expect(await metrics.exposition()).toContain('gateway_edge_faults_total{part="settle"} 1');
  });
});
