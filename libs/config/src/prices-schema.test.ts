import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pricesSchema } from './prices-schema.ts';

const withPrice = (price: object) => ({ currency: 'EUR', models: [{ model: 'gpt-5.5*', ...price }] });

const servedByDefault = { serviceTier: '', speed: '', geography: '' };

describe('prices', () => {
  it('are whole millionths, exactly as they were written', () => {
    const parsed = pricesSchema.parse(
      withPrice({
        ...{ from: '2026-11-20', input: 1.25, cached_input: 0.125, cache_write_5m: 1.5625, cache_write_1h: 2.5 },
        ...{ output: 10, above_tokens: { tokens: 200_000, input: 2.5, output: 15 } },
      }),
    );
    const rates = {
      ...{ inputMicros: 1_250_000, cachedInputMicros: 125_000, outputMicros: 10_000_000 },
      ...{ cacheWrite5mMicros: 1_562_500, cacheWrite1hMicros: 2_500_000 },
    };
    const above = {
      ...{ inputTokens: 200_000, inputMicros: 2_500_000, cachedInputMicros: 2_500_000, outputMicros: 15_000_000 },
      ...{ cacheWrite5mMicros: 2_500_000, cacheWrite1hMicros: 2_500_000 },
    };
    expect(parsed).toEqual({
      currency: 'EUR',
      models: [{ model: 'gpt-5.5*', fromDay: '2026-11-20', ...servedByDefault, ...rates, toolFees: [], above }],
    });
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e12 }), (micros) => {
        const text = `${Math.floor(micros / 1e6)}.${String(micros % 1e6).padStart(6, '0')}`;
        const [model] = pricesSchema.parse(withPrice({ input: Number(text), output: 0 })).models;
        const sameAsInput = ['inputMicros', 'cachedInputMicros', 'cacheWrite5mMicros', 'cacheWrite1hMicros'];
        expect(model).toMatchObject(Object.fromEntries(sameAsInput.map((name) => [name, micros])));
        expect(model).not.toHaveProperty('above');
      }),
    );
  });

  it('name the way of serving and the tools that they are for, and one price for all cache writes', () => {
    const given = {
      ...{ service_tier: 'priority', speed: 'fast', geography: 'us', input: 2, cache_write: 2.5, cache_write_1h: 4 },
      ...{ output: 10, tool_fees: { web_search: 0.01, web_fetch: 0 } },
    };
    expect(pricesSchema.parse(withPrice(given)).models).toMatchObject([
      {
        ...{ serviceTier: 'priority', speed: 'fast', geography: 'us' },
        ...{ cacheWrite5mMicros: 2_500_000, cacheWrite1hMicros: 4_000_000 },
        toolFees: [
          { tool: 'web_search', micros: 10_000 },
          { tool: 'web_fetch', micros: 0 },
        ],
      },
    ]);
    const plain = { input: 2, output: 10 };
    const usual = [
      { service_tier: 'default' },
      { service_tier: 'standard' },
      { speed: 'standard' },
      { geography: 'global' },
    ];
    const wrong = [{ speed: '' }, { tool_fees: { 'Web search': 1 } }, { tool_fees: { web_search: -1 } }];
    for (const each of [...usual, ...wrong]) {
      expect(pricesSchema.safeParse(withPrice({ ...plain, ...each })).success).toBe(false);
    }
  });

  it('are refused when they are below zero, finer than a millionth, of no day, or in no currency', () => {
    for (const input of [-1, 0.000_000_1, 1.000_000_1, Number.NaN, '1']) {
      expect(pricesSchema.safeParse(withPrice({ input, output: 1 })).success).toBe(false);
    }
    for (const from of ['2026-02-30', '2026', '20-11-2026']) {
      expect(pricesSchema.safeParse(withPrice({ from, input: 1, output: 1 })).success).toBe(false);
    }
    expect(pricesSchema.safeParse({ ...withPrice({ input: 1, output: 1 }), currency: 'euro' }).success).toBe(false);
    expect(pricesSchema.safeParse(withPrice({ input: 1 })).success).toBe(false);
    expect(pricesSchema.safeParse('public').success).toBe(false);
  });

  it('are those that are shipped, by the word builtin', () => {
    const { currency, models } = pricesSchema.parse('builtin');
    const [first, ...later] = models.filter(
      ({ model, geography }) => model === 'claude-sonnet-5-5' && geography === '',
    );
    expect([currency, first?.fromDay, later.map(({ fromDay }) => fromDay)]).toEqual(['USD', '', ['2026-10-07']]);
    const opus = models.find(({ model }) => model === 'claude-opus-4-5-20*');
    expect(opus).toMatchObject({
      ...{ inputMicros: 5_000_000, cachedInputMicros: 500_000, outputMicros: 25_000_000 },
      ...{ cacheWrite5mMicros: 6_250_000, cacheWrite1hMicros: 10_000_000 },
    });
    const terra = models.filter(({ model }) => model === 'gpt-6.1-terra');
    expect(terra).toMatchObject([
      {
        ...{ serviceTier: '', inputMicros: 1_000_000, cachedInputMicros: 50_000, outputMicros: 5_000_000 },
        ...{ cacheWrite5mMicros: 1_250_000, cacheWrite1hMicros: 2_500_000 },
        above: { inputTokens: 272_000, inputMicros: 2_000_000, cachedInputMicros: 100_000, outputMicros: 7_500_000 },
      },
      { serviceTier: 'flex', inputMicros: 500_000, cachedInputMicros: 25_000, outputMicros: 2_500_000 },
      { serviceTier: 'priority', inputMicros: 2_000_000, cachedInputMicros: 100_000, outputMicros: 10_000_000 },
    ]);
    const opus55 = models.filter(({ model }) => model === 'claude-opus-5-5');
    expect(opus55).toMatchObject([
      { ...servedByDefault, inputMicros: 4_000_000, cachedInputMicros: 200_000, outputMicros: 20_000_000 },
      { geography: 'us', inputMicros: 4_400_000, outputMicros: 22_000_000 },
      { speed: 'fast', inputMicros: 8_000_000, outputMicros: 40_000_000 },
    ]);
    expect(opus55[0]?.toolFees).toContainEqual({ tool: 'web_search', micros: 10_000 });
    // What is not certain has no price.
    const uncertain = ['claude-fable-5-2', 'claude-mythos-5-2', 'gpt-5.6-sol', 'gpt-6.2-sol'];
    expect(models.filter(({ model }) => uncertain.includes(model))).toEqual([]);
    // A price that could never apply would be a mistake in the list.
    const keys = models.map((price) =>
      [price.model, price.fromDay, price.serviceTier, price.speed, price.geography].join(' '),
    );
    expect(new Set(keys).size).toBe(keys.length);
  });
});
