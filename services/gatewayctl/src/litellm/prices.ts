import type { Deployment } from './deployments.ts';
import type { InputValue } from './input-value.ts';

/** A price of gateway.yaml, in USD per million tokens. */
export type ImportedPrice = {
  readonly model: string;
  readonly above_tokens?: Rates & { readonly tokens: number };
} & Rates;

type Rates = { readonly input: number; readonly output: number } & Partial<Record<CacheRate, number>>;
type CacheRate = 'cached_input' | 'cache_write_5m' | 'cache_write_1h';

const names = {
  input: 'input_cost_per_token',
  output: 'output_cost_per_token',
  cached_input: 'cache_read_input_token_cost',
  cache_write_5m: 'cache_creation_input_token_cost',
  cache_write_1h: 'cache_creation_input_token_cost_above_1hr',
} as const;

/** The prices in the input. The first one of a model counts. */
export function pricesOf(deployments: readonly Deployment[]): readonly ImportedPrice[] {
  const prices = new Map<string, ImportedPrice>();
  for (const { input, model } of deployments) {
    for (const place of [input.at('litellm_params'), input.at('model_info')]) {
      const rates = ratesIn(place, '');
      if (rates === undefined) continue;
      const known = prices.get(model);
      if (known !== undefined && !isSame(known, rates.rates)) {
        for (const each of rates.inputs) each.leave(`The model ${model} has another price already.`);
        continue;
      }
      const large = ratesIn(place, '_above_200k_tokens');
      for (const each of [...rates.inputs, ...(large?.inputs ?? [])]) each.take();
      const above = large === undefined ? {} : { above_tokens: { tokens: 200_000, ...large.rates } };
      if (known === undefined) prices.set(model, { model, ...rates.rates, ...above });
    }
  }
  return [...prices.values()];
}

/** Undefined: there is no price of input and output, or one that gateway.yaml can't hold. */
function ratesIn(place: InputValue, end: string) {
  const found = Object.entries(names).flatMap(([rate, name]) => {
    const input = place.at(`${name}${end}`);
    return input.isGiven ? [{ rate, input, amount: perMillion(input.number) }] : [];
  });
  const amounts = found.flatMap(({ rate, amount }) => (amount === undefined ? [] : [[rate, amount] as const]));
  const { input, output, ...cached }: Partial<Rates> = Object.fromEntries(amounts);
  if (input === undefined || output === undefined || amounts.length < found.length) return undefined;
  return { rates: { input, ...cached, output }, inputs: found.map((each) => each.input) };
}

/** With the six decimals that gateway.yaml keeps. */
function perMillion(perToken: number | undefined): number | undefined {
  const amount = Math.round((perToken ?? Number.NaN) * 1e12) / 1e6;
  return amount >= 0 && amount <= 1_000_000 ? amount : undefined;
}

function isSame(known: ImportedPrice, rates: Rates): boolean {
  return Object.entries(rates).every(([rate, amount]) => Reflect.get(known, rate) === amount);
}
