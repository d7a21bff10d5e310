import type { ClassConfig, PoolFormat } from '@gateway/config';
import type { PoolModels, ProviderModel } from './model-report.ts';
import { readableNames } from './readable-name.ts';

/** One entry of the public listing. */
export interface ListedModel {
  readonly id: string;
  readonly ownedBy: string;
  readonly name: string;
}

/**
 * The models that clients may name, in the order of the public listing. `pools` are those that have accounts; a class that
 * none of them could serve is left out.
 *
 * @see spec "GET /v1/models"
 */
export function listModels(classes: readonly ClassConfig[], pools: readonly PoolModels[]): readonly ListedModel[] {
  const offered = classes.filter(({ candidates }) =>
    candidates.some((candidate) => pools.some(({ pool }) => pool.name === candidate.pool)),
  );
  const direct = withoutRepeats([
    ...ofFormat(pools, 'responses').flatMap((pool) => owned(pool, responsesModels(pool, classes))),
    ...ofFormat(pools, 'messages').flatMap((pool) => owned(pool, pool.reachable ? pool.models : [])),
  ]);
  const names = readableNames(
    direct,
    offered.map(({ name }) => name),
  );
  return [
    ...offered.map(({ id, name }) => ({ id, ownedBy: 'gateway', name })),
    ...direct.map(({ id, ownedBy }, index) => ({ id, ownedBy, name: names[index] ?? id })),
  ];
}

interface OwnedModel extends ProviderModel {
  readonly ownedBy: string;
}

function ofFormat(pools: readonly PoolModels[], format: PoolFormat): readonly PoolModels[] {
  return pools.filter(({ pool }) => pool.format === format);
}

function owned({ pool }: PoolModels, models: readonly ProviderModel[]): readonly OwnedModel[] {
  return models.map((model) => ({ ...model, ownedBy: pool.ownedBy }));
}

/** While the list can't be read, only what the classes use is sure to be there. */
function responsesModels(
  { pool, reachable, models }: PoolModels,
  classes: readonly ClassConfig[],
): readonly ProviderModel[] {
  if (reachable) return models;
  return classes
    .flatMap(({ candidates }) => candidates)
    .filter((candidate) => candidate.pool === pool.name)
    .map(({ model }) => models.find(({ id }) => id === model) ?? { id: model, displayName: '' });
}

function withoutRepeats(models: readonly OwnedModel[]): readonly OwnedModel[] {
  const seen = new Set<string>();
  return models.filter(({ id }) => !seen.has(id) && seen.add(id));
}
