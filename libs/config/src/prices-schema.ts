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
  cache_write: price
    .optional()
    .describe("Per million input tokens written to the provider's cache. Absent: the same as input."),
  cache_write_5m: price
    .optional()
    .describe(
      'Per million input tokens written to the cache for its shorter lifetime: five minutes for Messages, thirty for Responses. Absent: the same as cache_write.',
    ),
  cache_write_1h: price
    .optional()
    .describe(
      'Per million input tokens written to the cache for its longer lifetime: an hour for Messages, twelve for Responses. Absent: the same as cache_write.',
    ),
  output: price.describe('Per million output tokens, including reasoning.'),
};

const largeRequests = z.strictObject({
  tokens: z.int().min(1).max(1_000_000_000).describe('The other rates apply to requests with more input tokens.'),
  ...rates,
});

/** The word in which an answer says how it was served. */
const served = (text: string, usual: readonly string[]) =>
  z
    .string()
    .min(1, 'must not be empty')
    .max(64)
    .refine((word) => !usual.includes(word), 'must be absent for what the provider serves by default')
    .optional()
    .describe(text);

const toolFees = z
  .record(z.string().regex(/^[a-z][a-z0-9_]{0,63}$/, 'must be the name of a server tool, such as web_search'), price)
  .describe(
    "The fee of one call, by the name of the provider's own tool, such as web_search. A tool that is not listed has no price.",
  );

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
    service_tier: served(
      'The price applies only to answers that name this service tier, such as priority or flex. Absent: only to those of the default tier.',
      ['auto', 'default', 'standard'],
    ),
    speed: served(
      'The price applies only to answers that name this speed, such as fast. Absent: only to those of standard speed.',
      ['standard'],
    ),
    geography: served(
      'The price applies only to answers that name this geography of inference, such as us. Absent: only to those that may come from anywhere.',
      ['global', 'not_available'],
    ),
    ...rates,
    context_tokens: z
      .int()
      .min(1)
      .max(1_000_000_000)
      .optional()
      .describe(
        'How many tokens the model can read at once. Budgets reserve for so many while the usual input is unknown and the provider may fetch content. Absent: 1,000,000.',
      ),
    tool_fees: toolFees.optional(),
    above_tokens: largeRequests.optional().describe('Other rates, for all tokens of requests with a large input.'),
  })
  .transform(({ model, from: fromDay = '', above_tokens: large, tool_fees: fees = {}, ...given }) => ({
    model,
    fromDay,
    serviceTier: given.service_tier ?? '',
    speed: given.speed ?? '',
    geography: given.geography ?? '',
    ...(given.context_tokens && { contextTokens: given.context_tokens }),
    ...toRates(given),
    toolFees: Object.entries(fees).map(([tool, fee]) => ({ tool, micros: toMicros(fee) })),
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
    cacheWrite5mMicros: toMicros(writes.cache_write_5m ?? writes.cache_write ?? input),
    cacheWrite1hMicros: toMicros(writes.cache_write_1h ?? writes.cache_write ?? input),
    outputMicros: toMicros(output),
  };
}

function toMicros(amount: number): number {
  return Math.round(amount * 1_000_000);
}
