/*
 * Public list prices in USD, per million tokens: Claude models as of 24 October 2026, GPT-5.5 and
 * older as of 4 June 2026, both from the providers' own pricing pages. Prices of Claude Opus 5.5,
 * Mythos, GPT-5.6 and GPT-6, and those of tiers and of fast mode, are as others quoted these pages
 * up to November 2026. From memory are only the fees of tools and the factor for inference in the
 * US. A model whose price is not certain is left out, so that reports show its usage as unpriced:
 * Claude Fable 5.2 and Mythos 5.2, GPT-5.6 Sol (its promotional price has an unknown end), GPT-6.2
 * Sol. There are no discounts for batches, regions or contracts. Write the prices of a contract
 * into gateway.yaml instead.
 */

interface Rates {
  readonly input: number;
  readonly cached_input: number;
  readonly cache_write?: number;
  readonly cache_write_5m?: number;
  readonly cache_write_1h?: number;
  readonly output: number;
}

interface Price extends Rates {
  readonly model: string;
  readonly from?: string;
  readonly service_tier?: string;
  readonly speed?: string;
  readonly geography?: string;
  readonly tool_fees?: Readonly<Record<string, number>>;
  readonly above_tokens?: Rates & { readonly tokens: number };
}

type More = Omit<Price, keyof Rates | 'model'>;

/** A cache write costs 1.25 times the input for five minutes, and twice the input for an hour. */
function claude(input: number, cached_input: number, output: number): Rates {
  return rounded({ input, cached_input, cache_write_5m: input * 1.25, cache_write_1h: input * 2, output });
}

/** Writing to the cache is not charged separately. */
function gpt(input: number, cached_input: number, output: number): Rates {
  return rounded({ input, cached_input, output });
}

/**
 * From GPT-5.6 on, a cache write costs 1.25 times the input. That of twelve hours costs 2.5 times
 * the input, as quoted for GPT-6.1 Terra.
 */
function laterGpt(input: number, cached_input: number, output: number): Rates {
  return rounded({ input, cached_input, cache_write_5m: input * 1.25, cache_write_1h: input * 2.5, output });
}

/** With the six decimals of gateway.yaml. */
function rounded<R extends Rates>(rates: R): R {
  const rows = Object.entries(rates).map(([name, amount]) => [name, Math.round(amount * 1e6) / 1e6]);
  return Object.fromEntries(rows);
}

/** From memory: searches cost a cent, and fetches nothing but their tokens. */
const claudeFees = { web_search: 0.01, web_fetch: 0 };
/** From memory. */
const gptFees = { web_search: 0.01, file_search: 0.0025 };

/** The rates of a model and of its dated snapshots. */
function prices(model: string, rates: Rates, more: More = {}): readonly Price[] {
  const tool_fees = model.startsWith('claude-') ? claudeFees : gptFees;
  return [model, `${model}-20*`].map((each) => ({ model: each, ...rates, tool_fees, ...more }));
}

/** Claude models that can be asked to run in the US only, which costs 1.1 times as much. */
function inUs(model: string, input: number, cached: number, output: number, more: More = {}): readonly Price[] {
  const rates = claude(input * 1.1, cached * 1.1, output * 1.1);
  return [...prices(model, claude(input, cached, output), more), ...prices(model, rates, { ...more, geography: 'us' })];
}

/**
 * GPT models with service tiers: flex costs half as much, priority twice. Above 272,000 tokens,
 * input costs twice as much and output 1.5 times.
 */
function tiered(model: string, input: number, cached: number, output: number, more: More = {}): readonly Price[] {
  const tiers = { '': 1, flex: 0.5, priority: 2 };
  return Object.entries(tiers).flatMap(([tier, factor]) => {
    const ratesOf = (ofInput: number, ofOutput: number) =>
      laterGpt(input * ofInput * factor, cached * ofInput * factor, output * ofOutput * factor);
    const above_tokens = { tokens: 272_000, ...ratesOf(2, 1.5) };
    return prices(model, ratesOf(1, 1), { ...more, above_tokens, ...(tier !== '' && { service_tier: tier }) });
  });
}

/** As in gateway.yaml. */
export const publicPrices: { readonly currency: string; readonly models: readonly Price[] } = {
  currency: 'USD',
  models: [
    ...['claude-fable-5-1', 'claude-mythos-5-1'].flatMap((model) => inUs(model, 10, 0.25, 50)),
    ...['claude-fable-5', 'claude-mythos-5'].flatMap((model) => inUs(model, 10, 1, 50)),
    ...inUs('claude-opus-5-5', 4, 0.2, 20),
    ...prices('claude-opus-5-5', claude(8, 0.4, 40), { speed: 'fast' }),
    ...['claude-opus-5', 'claude-opus-4-8', 'claude-opus-4-7', 'claude-opus-4-6'].flatMap((model) =>
      inUs(model, 5, 0.5, 25),
    ),
    ...prices('claude-opus-4-8', claude(10, 1, 50), { speed: 'fast' }),
    ...prices('claude-opus-4-5', claude(5, 0.5, 25)),
    ...['claude-opus-4-1', 'claude-opus-4', 'claude-opus-4-0'].flatMap((model) => prices(model, claude(15, 1.5, 75))),
    ...inUs('claude-sonnet-5-5', 2, 0.2, 10),
    ...inUs('claude-sonnet-5-5', 2, 0.1, 10, { from: '2026-10-07' }),
    ...inUs('claude-sonnet-5', 2, 0.2, 10),
    ...inUs('claude-sonnet-4-6', 3, 0.3, 15),
    ...['claude-sonnet-4-5', 'claude-sonnet-4', 'claude-sonnet-4-0'].flatMap((model) =>
      prices(model, claude(3, 0.3, 15), { above_tokens: { tokens: 200_000, ...claude(6, 0.6, 22.5) } }),
    ),
    ...['claude-3-7-sonnet', 'claude-3-7-sonnet-latest'].flatMap((model) => prices(model, claude(3, 0.3, 15))),
    ...prices('claude-haiku-5-5', claude(0.1, 0.01, 0.5), {
      above_tokens: { tokens: 100_000, ...claude(0.5, 0.05, 2.5) },
    }),
    ...prices('claude-haiku-4-5', claude(1, 0.1, 5)),
    ...['claude-3-5-haiku', 'claude-3-5-haiku-latest'].flatMap((model) => prices(model, claude(0.8, 0.08, 4))),
    ...tiered('gpt-6.2-astra', 8, 0.4, 40),
    ...tiered('gpt-6.1-sol', 2, 0.1, 10),
    ...tiered('gpt-6.1-terra', 1, 0.05, 5),
    ...tiered('gpt-6-astra', 10, 1, 50),
    ...tiered('gpt-6-sol', 2, 0.2, 10),
    ...tiered('gpt-6-luna', 0.1, 0.01, 0.5),
    // Its service tiers have other factors, which are not certain.
    ...prices('gpt-5.6-terra', laterGpt(2.5, 0.25, 15)),
    ...prices('gpt-5.6-terra', laterGpt(2, 0.2, 12), { from: '2026-07-30' }),
    ...prices('gpt-5.6-luna', laterGpt(1, 0.1, 6)),
    ...prices('gpt-5.6-luna', laterGpt(0.2, 0.02, 1.2), { from: '2026-07-30' }),
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
