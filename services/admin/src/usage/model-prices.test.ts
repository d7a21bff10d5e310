import { create } from '@bufbuild/protobuf';
import { GatewayFileSchema } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { UsageTotalsSchema } from '@gateway/proto/usage/v1/usage_service_pb.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ModelPrices, type ModelUse } from './model-prices.ts';

interface Price {
  readonly model: string;
  readonly inputMicros: bigint;
  readonly cachedInputMicros: bigint;
  readonly outputMicros: bigint;
}

const pricesOf = (...prices: readonly Price[]) =>
  new ModelPrices(create(GatewayFileSchema, { currency: 'EUR', prices: [...prices] }));
const use = (model: string, inputTokens: bigint, cachedTokens: bigint, outputTokens: bigint): ModelUse => ({
  model,
  totals: create(UsageTotalsSchema, { requests: 1n, inputTokens, cachedTokens, outputTokens }),
});

const euro = 1_000_000n;
const small = { inputMicros: 3n * euro, cachedInputMicros: 300_000n, outputMicros: 15n * euro };

describe('costs of models', () => {
  it('is the sum for input, cached input and output', () => {
    const prices = pricesOf({ model: 'gpt-5.5', ...small });
    expect(prices.costOf([use('gpt-5.5', 1_000_000n, 400_000n, 100_000n)])).toEqual({
      micros: 1_800_000n + 120_000n + 1_500_000n,
      unpricedTokens: 0n,
    });
  });

  it('is by the first price that fits', () => {
    const prices = pricesOf(
      { ...small, model: 'gpt-5.5-mini', inputMicros: 1n * euro },
      { ...small, model: 'gpt-*', inputMicros: 2n * euro },
      { ...small, model: '*', inputMicros: 9n * euro },
    );
    const costs = ['gpt-5.5-mini', 'gpt-5.5', 'gptx', 'claude\n5'].map(
      (model) => prices.costOf([use(model, 1_000_000n, 0n, 0n)])?.micros,
    );
    expect(costs).toEqual([1n * euro, 2n * euro, 9n * euro, 9n * euro]);
    expect(pricesOf({ ...small, model: 'a.c*e' }).costOf([use('abcde', 1n, 0n, 2n)])?.unpricedTokens).toBe(3n);
  });

  it('leaves out, and counts, tokens without a price; without any prices there is no cost', () => {
    const uses = [use('gpt-5.5', 1_000_000n, 0n, 0n), use('other', 5n, 2n, 7n)];
    expect(pricesOf({ model: 'gpt-*', ...small }).costOf(uses)).toEqual({ micros: 3n * euro, unpricedTokens: 12n });
    expect(pricesOf().costOf(uses)).toBeUndefined();
  });

  it('is summed up exactly and rounded once, half of a millionth up', () => {
    const price = fc.bigInt({ min: 0n, max: 10n ** 12n });
    const tokens = fc.bigInt({ min: 0n, max: 2n ** 50n });
    const prices = fc.record({ inputMicros: price, cachedInputMicros: price, outputMicros: price });
    const uses = fc.array(
      fc.record({ input: tokens, cached: tokens, output: tokens, model: fc.constantFrom('a', 'b') }),
    );
    fc.assert(
      fc.property(prices, prices, uses, (ofA, ofB, given) => {
        const exact = given.map(({ input, cached, output, model }) => {
          const { inputMicros, cachedInputMicros, outputMicros } = model === 'a' ? ofA : ofB;
          return new Rational((input - cached) * inputMicros, 1_000_000n)
            .plus(new Rational(cached * cachedInputMicros, 1_000_000n))
            .plus(new Rational(output * outputMicros, 1_000_000n));
        });
        const sum = exact.reduce((total, each) => total.plus(each), new Rational(0n, 1n));
        const cost = pricesOf({ model: 'a', ...ofA }, { model: 'b', ...ofB }).costOf(
          given.map(({ input, cached, output, model }) => use(model, input, cached, output)),
        );
        expect(cost?.micros).toBe(sum.plus(new Rational(1n, 2n)).floor());
      }),
    );
  });
});

/** A fraction of whole numbers, without rounding. */
class Rational {
  readonly #numerator: bigint;
  readonly #denominator: bigint;

  constructor(numerator: bigint, denominator: bigint) {
    this.#numerator = numerator;
    this.#denominator = denominator;
  }

  plus(other: Rational): Rational {
    const numerator = this.#numerator * other.#denominator + other.#numerator * this.#denominator;
    return new Rational(numerator, this.#denominator * other.#denominator);
  }

  floor(): bigint {
    const rest = ((this.#numerator % this.#denominator) + this.#denominator) % this.#denominator;
    return (this.#numerator - rest) / this.#denominator;
  }
}
