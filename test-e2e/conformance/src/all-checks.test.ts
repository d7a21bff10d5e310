import { roomMs } from '@gateway/testkit/room';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { plantedFaults } from './__fixtures__/gateway-double/faults.ts';
import type { Misbehaviour } from './__fixtures__/gateway-double/misbehaviour.ts';
import { startGatewayDouble, tokens } from './__fixtures__/gateway-double.ts';
import { allChecks } from './all-checks.ts';
import type { Check, Clock } from './check.ts';
import type { ProviderDouble } from './double/provider-double.ts';
import { startProviderDouble } from './double/provider-double.ts';
import type { Result } from './report/result.ts';
import { runChecks } from './run.ts';
import type { Target } from './target/endpoints.ts';

const limit = 20;

/**
 * A clock that only advances when a check waits: the duration of requests does not affect limits.
 */
function standingClock(): Clock {
  let nowMs = Date.now();
  return {
    nowMs: () => nowMs,
    wait: async (ms) => {
      nowMs += ms;
    },
  };
}

describe('a run of all checks', () => {
  let double: ProviderDouble;

  beforeAll(async () => {
    double = await startProviderDouble();
  });

  afterAll(() => double[Symbol.asyncDispose]());

  const resultsOf = async (checks: readonly Check[], misbehaviour: Misbehaviour = {}): Promise<readonly Result[]> => {
    const clock = standingClock();
    await using gateway = await startGatewayDouble(double.url, { limit, windowMs: 60_000, clock }, misbehaviour);
    const target: Target = {
      url: gateway.url,
      ...tokens,
      limitedRequestsPerMinute: limit,
      hasSecondAccount: true,
      models: {
        chat: 'gateway/sterk',
        messages: 'gateway/claude',
        'count-tokens': 'claude-sonnet-5',
        responses: 'gpt-5.5',
        models: '',
        usage: '',
      },
    };
    return await Array.fromAsync(
      runChecks({ target, double, checks, clock, concurrency: 12, checkTimeoutMs: roomMs(20_000) }),
    );
  };

  const brokenOf = (results: readonly Result[]) =>
    results.flatMap(({ check, outcome }) =>
      outcome.kind === 'broken' ? [{ name: check.name, found: outcome.found }] : [],
    );

  it('finds every rule kept by a gateway that does everything right', async () => {
    const results = await resultsOf(allChecks);
    expect(brokenOf(results)).toEqual([]);
  });

  it('knows at least thirty faults, with unique names', () => {
    expect(new Set(plantedFaults.map(({ name }) => name)).size).toBe(plantedFaults.length);
    expect(plantedFaults.length).toBeGreaterThanOrEqual(30);
  });

  it.concurrent.each(plantedFaults)('finds the fault "$name" by $breaks', async ({ breaks, behaviour }) => {
    const [check] = allChecks.filter(({ name }) => name === breaks);
    if (check === undefined) throw new Error(`there is no check ${breaks}`);
    expect(brokenOf(await resultsOf([check], behaviour)).map(({ name }) => name)).toEqual([breaks]);
  });
});
