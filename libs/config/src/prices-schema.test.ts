import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pricesSchema } from './prices-schema.ts';

const withPrice = (price: object) => ({ currency: 'EUR', models: [{ model: 'gpt-5.5*', ...price }] });

describe('prices', () => {
  it('are whole millionths, exactly as they were written', () => {
    const parsed = pricesSchema.parse(withPrice({ input: 1.25, cached_input: 0.125, output: 10 }));
    expect(parsed).toEqual({
      currency: 'EUR',
      models: [{ model: 'gpt-5.5*', inputMicros: 1_250_000, cachedInputMicros: 125_000, outputMicros: 10_000_000 }],
    });
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e12 }), (micros) => {
        const text = `${Math.floor(micros / 1e6)}.${String(micros % 1e6).padStart(6, '0')}`;
        const [model] = pricesSchema.parse(withPrice({ input: Number(text), output: 0 })).models;
        expect(model).toMatchObject({ inputMicros: micros, cachedInputMicros: micros });
      }),
    );
  });

  it('are refused when they are below zero, finer than a millionth, or in no currency', () => {
    for (const input of [-1, 0.000_000_1, 1.000_000_1, Number.NaN, '1']) {
      expect(pricesSchema.safeParse(withPrice({ input, output: 1 })).success).toBe(false);
    }
    expect(pricesSchema.safeParse({ ...withPrice({ input: 1, output: 1 }), currency: 'euro' }).success).toBe(false);
    expect(pricesSchema.safeParse(withPrice({ input: 1 })).success).toBe(false);
  });
});
