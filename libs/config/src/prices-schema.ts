import { isLocalDay } from '@gateway/time';
import { z } from 'zod';
import { publicPrices } from './public-prices.ts';

/** In the currency, per million tokens. Six decimals are kept, so that nothing is ever rounded. */
const price = z
  .number()
  .min(0)
  .max(1_000_000)
  .refine((amount) => toMicros(amount) / 1_000_000 === amount, 'must have at most six decimals');

const rates = {
  input: price.describe('Per million input tokens.'),
  cached_input: price.optional().describe('Per million input tokens from a cache. Absent: the same as input.'),
  cache_write_5m: price
    .optional()
    .describe("Per million input tokens written to the provider's cache for five minutes. Absent: the same as input."),
  cache_write_1h: price
    .optional()
    .describe("Per million input tokens written to the provider's cache for an hour. Absent: the same as input."),
  output: price.describe('Per million output tokens, including reasoning.'),
};

const largeRequests = z.strictObject({
  tokens: z.int().min(1).max(1_000_000_000).describe('The other rates apply to requests with more input tokens.'),
  ...rates,
});

const modelPrice = z
  .strictObject({
    model: z
      .string()
      .min(1, 'must not be empty')
      .describe("A provider's model id, with * for any text. If several prices match, the first one applies."),
    from: z
      .string()
      .refine(isLocalDay, 'must be a day such as 2026-11-20')
      .optional()
      .describe(
        'The first day on which the price applies, such as 2026-11-20. Of several prices for the same model, the latest that has begun applies. Absent: always.',
      ),
    ...rates,
    above_tokens: largeRequests.optional().describe('Other rates, for all tokens of requests with a large input.'),
  })
  .transform(({ model, from: fromDay = '', above_tokens: large, ...given }) => ({
    model,
    fromDay,
    ...toRates(given),
    ...(large && { above: { inputTokens: large.tokens, ...toRates(large) } }),
  }));

const ownPrices = z.strictObject({
  currency: z
    .string()
    .regex(/^[A-Z]{3}$/, 'must be three capital letters, such as EUR')
    .describe('The currency of all prices, such as EUR.'),
  models: z.array(modelPrice).min(1, 'must not be empty'),
});

const builtinPrices = z
  .literal('builtin')
  .describe('The public list prices that are shipped with the gateway, in USD.')
  .transform(() => ownPrices.parse(publicPrices));

/** Prices of tokens, for costs and budgets. */
export const pricesSchema = z.union([builtinPrices, ownPrices], 'must be builtin or { currency: EUR, models: [ … ] }');

function toRates({ input, cached_input: cachedInput = input, output, ...writes }: z.output<z.ZodObject<typeof rates>>) {
  return {
    inputMicros: toMicros(input),
    cachedInputMicros: toMicros(cachedInput),
    cacheWrite5mMicros: toMicros(writes.cache_write_5m ?? input),
    cacheWrite1hMicros: toMicros(writes.cache_write_1h ?? input),
    outputMicros: toMicros(output),
  };
}

function toMicros(amount: number): number {
  return Math.round(amount * 1_000_000);
}
