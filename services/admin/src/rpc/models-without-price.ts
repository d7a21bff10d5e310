import { create } from '@bufbuild/protobuf';
import { formatCountOf, moneyText } from '@gateway/presentation';
import { PriceBook, unknownOutput } from '@gateway/prices';
import { type Group, UnpricedModels } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { Model } from '@gateway/proto/pool/v1/model_pb.js';
import { type GatewayFile, PriceListSchema } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { epochMs, localDayOf } from '@gateway/time';
import { modelsFor } from '@gateway/tokens/access-rules';
import type { AdminParts } from '../parts.ts';
import { peerCall } from '../peer-calls.ts';

/** The models that pools offer, and what they cost today. */
export interface PricedModels {
  readonly models: readonly Model[];
  /** The models that classes name. Those of a pool without accounts are not offered. */
  readonly named: readonly string[];
  readonly prices: PriceBook;
  readonly localDay: string;
}

/** @throws RpcError if the broker does not answer */
export async function pricedModels(
  { peers }: Pick<AdminParts, 'peers'>,
  file: GatewayFile,
  signal: AbortSignal,
): Promise<PricedModels> {
  const { models } = await peers.broker.listModels({}, peerCall(signal));
  const { currency, prices, specialPrices } = file;
  return {
    models,
    named: file.classes.flatMap(({ candidates }) => candidates.map((text) => text.slice(text.indexOf('/') + 1))),
    prices: new PriceBook(create(PriceListSchema, { currency, prices, specialPrices })),
    localDay: localDayOf(epochMs()),
  };
}

/** All models without a price. None if there are neither prices nor budgets. */
export function modelsWithoutPrice(
  { models, named, prices, localDay }: PricedModels,
  groups: readonly Pick<Group, 'limits'>[],
): string[] {
  if (prices.isEmpty && !groups.some(hasBudget)) return [];
  return [...prices.withoutPrice([...candidatesOf(models), ...named], localDay)];
}

export function hasBudget({ limits }: Pick<Group, 'limits'>): boolean {
  return limits?.budget !== undefined;
}

type BudgetedGroup = Pick<Group, 'limits' | 'access' | 'unpricedModels'>;

/** What an operator should know of a group's budget. Nothing without one. */
export function budgetWarnings(group: BudgetedGroup, priced: PricedModels) {
  const budget = group.limits?.budget;
  if (budget === undefined) return { modelsWithoutPrice: [], warnings: [] };
  const usable = candidatesOf(modelsFor({ group }, priced.models));
  const without = [...priced.prices.withoutPrice(usable, priced.localDay)];
  const sentences = [unpricedSentence(group, without, priced), smallSentence(group, usable, priced)];
  return { modelsWithoutPrice: without, warnings: sentences.filter((each) => each !== undefined) };
}

function unpricedSentence(
  { unpricedModels }: BudgetedGroup,
  without: readonly string[],
  { prices }: PricedModels,
): string | undefined {
  if (prices.isEmpty) return 'gateway.yaml has no prices, so the budget refuses every request.';
  if (without.length === 0) return undefined;
  const isOne = without.length === 1;
  const what = `${formatCountOf(without.length, 'model')} ${isOne ? 'has' : 'have'} no price, and`;
  if (unpricedModels === UnpricedModels.DEAREST)
    return `${what} ${isOne ? 'costs' : 'cost'} as much as the dearest of the same pool: ${shortList(without)}.`;
  return `${what} ${isOne ? 'is' : 'are'} refused: ${shortList(without)}.`;
}

/** A budget of zero is meant to refuse. */
function smallSentence(
  { limits, unpricedModels }: BudgetedGroup,
  usable: readonly string[],
  { models, prices, localDay }: PricedModels,
): string | undefined {
  const amountMicros = limits?.budget?.amountMicros ?? 0;
  const owners = new Map(models.map(({ id, ownedBy }) => [id, ownedBy]));
  const costs = usable.map((model) => {
    const others = models.filter(({ ownedBy }) => ownedBy === owners.get(model)).map(({ id }) => id);
    const isDearest = unpricedModels === UnpricedModels.DEAREST;
    const micros = isDearest
      ? prices.costAnyway(model, others, usualTokens, localDay)
      : prices.costOf(model, usualTokens, localDay);
    return { model, micros: micros ?? 0 };
  });
  const [dearest] = costs.toSorted((one, other) => other.micros - one.micros);
  if (dearest === undefined || amountMicros === 0 || amountMicros >= dearest.micros) return undefined;
  const [budget, usual] = [amountMicros, dearest.micros].map((micros) => moneyText(micros, prices.currency));
  return `The budget of ${budget} is smaller than what one request of ${dearest.model} usually reserves (${usual}): such a request runs only while no other does.`;
}

/** What an edge reserves for the output of a request that names no bound, at an unknown model. */
const usualTokens = {
  ...{ inputTokens: 0, cachedTokens: 0, cacheWrite5mTokens: 0, cacheWrite1hTokens: 0 },
  outputTokens: unknownOutput,
};

function candidatesOf(models: readonly Model[]): readonly string[] {
  return [...new Set(models.flatMap(({ candidates }) => candidates))];
}

function shortList(models: readonly string[]): string {
  const more = models.length - mostNamed;
  return `${models.slice(0, mostNamed).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

const mostNamed = 10;
