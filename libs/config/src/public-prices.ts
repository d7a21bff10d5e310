/*
 * Public list prices in USD, per million tokens, of the providers' own pricing pages: Claude models
 * as of 24 October 2026, GPT and o models as of 4 June 2026. These are the rates of the standard
 * tier, without discounts for batches, regions or contracts. A model whose price is not certain is
 * left out, so that reports show its tokens as unpriced. Write the prices of a contract into
 * gateway.yaml instead.
 */

interface Rates {
  readonly input: number;
  readonly cached_input: number;
  readonly cache_write_5m?: number;
  readonly cache_write_1h?: number;
  readonly output: number;
}

interface Price extends Rates {
  readonly model: string;
  readonly from?: string;
  readonly above_tokens?: Rates & { readonly tokens: number };
}

/** A cache write costs 1.25 times the input for five minutes, and twice the input for an hour. */
function claude(input: number, cached_input: number, output: number): Rates {
  return { input, cached_input, cache_write_5m: input * 1.25, cache_write_1h: input * 2, output };
}

/** Writing to the cache is not charged separately. */
function gpt(input: number, cached_input: number, output: number): Rates {
  return { input, cached_input, output };
}

/** The rates of a model and of its dated snapshots. */
function prices(model: string, rates: Rates, more: Pick<Price, 'from' | 'above_tokens'> = {}): readonly Price[] {
  return [model, `${model}-20*`].map((each) => ({ model: each, ...rates, ...more }));
}

/** As in gateway.yaml. */
export const publicPrices: { readonly currency: string; readonly models: readonly Price[] } = {
  currency: 'USD',
  models: [
    ...prices('claude-fable-5-1', claude(10, 0.25, 50)),
    ...prices('claude-fable-5', claude(10, 1, 50)),
    ...['claude-opus-5', 'claude-opus-4-8', 'claude-opus-4-7', 'claude-opus-4-6', 'claude-opus-4-5'].flatMap((model) =>
      prices(model, claude(5, 0.5, 25)),
    ),
    ...['claude-opus-4-1', 'claude-opus-4', 'claude-opus-4-0'].flatMap((model) => prices(model, claude(15, 1.5, 75))),
    ...prices('claude-sonnet-5-5', claude(2, 0.2, 10)),
    ...prices('claude-sonnet-5-5', claude(2, 0.1, 10), { from: '2026-10-07' }),
    ...prices('claude-sonnet-5', claude(2, 0.2, 10)),
    ...prices('claude-sonnet-4-6', claude(3, 0.3, 15)),
    ...['claude-sonnet-4-5', 'claude-sonnet-4', 'claude-sonnet-4-0'].flatMap((model) =>
      prices(model, claude(3, 0.3, 15), { above_tokens: { tokens: 200_000, ...claude(6, 0.6, 22.5) } }),
    ),
    ...['claude-3-7-sonnet', 'claude-3-7-sonnet-latest'].flatMap((model) => prices(model, claude(3, 0.3, 15))),
    ...prices('claude-haiku-5-5', claude(0.1, 0.01, 0.5), {
      above_tokens: { tokens: 100_000, ...claude(0.5, 0.05, 2.5) },
    }),
    ...prices('claude-haiku-4-5', claude(1, 0.1, 5)),
    ...['claude-3-5-haiku', 'claude-3-5-haiku-latest'].flatMap((model) => prices(model, claude(0.8, 0.08, 4))),
    ...prices('gpt-5.5', gpt(5, 0.5, 30), { above_tokens: { tokens: 272_000, ...gpt(10, 1, 45) } }),
    ...prices('gpt-5.4', gpt(2.5, 0.25, 15), { above_tokens: { tokens: 272_000, ...gpt(5, 0.5, 22.5) } }),
    ...prices('gpt-5.4-mini', gpt(0.75, 0.075, 4.5)),
    ...prices('gpt-5.4-nano', gpt(0.2, 0.02, 1.25)),
    ...['gpt-5.2', 'gpt-5.2-codex'].flatMap((model) => prices(model, gpt(1.75, 0.175, 14))),
    ...['gpt-5.1', 'gpt-5.1-codex', 'gpt-5', 'gpt-5-codex'].flatMap((model) => prices(model, gpt(1.25, 0.125, 10))),
    ...['gpt-5.1-codex-mini', 'gpt-5-mini'].flatMap((model) => prices(model, gpt(0.25, 0.025, 2))),
    ...prices('gpt-5-nano', gpt(0.05, 0.005, 0.4)),
    ...prices('gpt-4.1', gpt(2, 0.5, 8)),
    ...prices('gpt-4.1-mini', gpt(0.4, 0.1, 1.6)),
    ...prices('gpt-4.1-nano', gpt(0.1, 0.025, 0.4)),
    ...prices('gpt-4o', gpt(2.5, 1.25, 10)),
    ...prices('gpt-4o-mini', gpt(0.15, 0.075, 0.6)),
    ...prices('o3', gpt(2, 0.5, 8)),
    ...prices('o4-mini', gpt(1.1, 0.275, 4.4)),
  ],
};
