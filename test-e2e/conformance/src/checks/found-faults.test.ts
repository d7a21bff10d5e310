import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { faults } from '../__fixtures__/faulty/faults.ts';
import { type Fault, startFaultyGateway } from '../__fixtures__/faulty/faulty-gateway.ts';
import { formatChecks } from '../all-checks.ts';
import type { Check } from '../check.ts';
import type { ProviderDouble } from '../double/provider-double.ts';
import { startProviderDouble } from '../double/provider-double.ts';
import type { Result } from '../report/result.ts';
import { runChecks } from '../run.ts';

describe('conformance', () => {
  let double: ProviderDouble;

  beforeAll(async () => {
    double = await startProviderDouble();
  });

  afterAll(() => double[Symbol.asyncDispose]());

  const models = {
    chat: 'gpt-5.5',
    messages: 'gpt-5.5',
    'count-tokens': 'gpt-5.5',
    responses: 'gpt-5.5',
    models: 'all',
  };

  const resultsOf = async (checks: readonly Check[], fault?: Fault): Promise<readonly Result[]> => {
    await using gateway = await startFaultyGateway(double.url, fault);
    const target = { url: gateway.url, token: 'conformance-token', models };
    return await Array.fromAsync(
      runChecks({ target, double, checks, checkTimeoutMs: fault?.holdsBack ? 1_000 : 20_000 }),
    );
  };

  it('finds no fault in a gateway that keeps every rule of the formats', async () => {
    const results = await resultsOf(formatChecks);
    expect(results.filter(({ outcome }) => outcome.kind !== 'kept')).toEqual([]);
    expect(results.length).toBe(formatChecks.length);
  });

  it.each(faults)('finds a gateway that $name', async (fault) => {
    const [result] = await resultsOf(
      formatChecks.filter(({ name }) => name === fault.foundBy),
      fault,
    );
    expect(result?.outcome.kind).toBe('broken');
  });
});
