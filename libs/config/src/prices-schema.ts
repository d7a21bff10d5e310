import { z } from 'zod';

/** In the currency, per million tokens. Six decimals are kept, so that nothing is ever rounded. */
const price = z
  .number()
  .min(0)
  .max(1_000_000)
  .refine((amount) => toMicros(amount) / 1_000_000 === amount, 'must have at most six decimals');

const modelPrice = z
  .strictObject({
    model: z
      .string()
      .min(1, 'must not be empty')
      .describe("A provider's model id, with * for any text. If several prices match, the first one applies."),
    input: price.describe('Per million input tokens.'),
    cached_input: price.optional().describe('Per million input tokens from a cache. Absent: the same as input.'),
    output: price.describe('Per million output tokens, including reasoning.'),
  })
  .transform(({ model, input, cached_input: cachedInput = input, output }) => ({
    model,
    inputMicros: toMicros(input),
    cachedInputMicros: toMicros(cachedInput),
    outputMicros: toMicros(output),
  }));

/** Prices of tokens, for reports. No request is refused because of its price. */
export const pricesSchema = z.strictObject({
  currency: z
    .string()
    .regex(/^[A-Z]{3}$/, 'must be three capital letters, such as EUR')
    .describe('The currency of all prices, such as EUR.'),
  models: z.array(modelPrice).min(1, 'must not be empty'),
});

function toMicros(amount: number): number {
  return Math.round(amount * 1_000_000);
}
