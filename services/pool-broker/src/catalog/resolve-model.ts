import type { ClassConfig, PoolConfig, PoolFormat } from '@gateway/config';
import { matchesAnyPattern } from './model-pattern.ts';
import type { PoolModels, ProviderModel } from './model-report.ts';
import { splitSnapshotDate } from './snapshot-date.ts';

/** One provider model that may answer a request. */
export interface Candidate {
  readonly pool: PoolConfig;
  /** The provider's model id. */
  readonly model: string;
  /** Effort of a class's requests that name none. Empty for a direct model. */
  readonly defaultEffort: string;
}

export interface ResolveModelRequest {
  /** A class id ("gateway/<name>") or a provider's model id. */
  readonly model: string;
  /** What the endpoint can speak. Empty: any. */
  readonly formats: ReadonlySet<PoolFormat>;
  readonly classes: readonly ClassConfig[];
  /** The pools that have accounts. */
  readonly pools: readonly PoolModels[];
}

/** What a model id means: its candidates in order of preference. None: there is no such model for the endpoint. */
export function resolveModel(request: ResolveModelRequest): readonly Candidate[] {
  const pools = request.pools.filter(({ pool }) => request.formats.size === 0 || request.formats.has(pool.format));
  const modelClass = request.classes.find(({ id }) => id === request.model);
  if (modelClass !== undefined) return classCandidates(modelClass, pools);
  const found = poolOfModel(request.model, request.classes, pools);
  return found === undefined ? [] : [{ pool: found.pool, model: request.model, defaultEffort: '' }];
}

function classCandidates({ candidates, effort }: ClassConfig, pools: readonly PoolModels[]): readonly Candidate[] {
  return candidates.flatMap((candidate) => {
    const found = pools.find(({ pool }) => pool.name === candidate.pool);
    return found === undefined ? [] : [{ pool: found.pool, model: candidate.model, defaultEffort: effort }];
  });
}

/** A current list is believed first, then the configuration, then what we knew or may guess of pools out of sight. */
function poolOfModel(
  model: string,
  classes: readonly ClassConfig[],
  pools: readonly PoolModels[],
): PoolModels | undefined {
  const outOfSight = pools.filter(({ reachable }) => !reachable);
  return (
    pools.find(({ reachable, models }) => reachable && offers(models, model)) ??
    pools.find(({ pool }) => usesModel(classes, pool.name, model)) ??
    outOfSight.find(({ models }) => offers(models, model)) ??
    outOfSight.find(({ pool }) => matchesAnyPattern(model, pool.modelPatterns))
  );
}

/** Providers take a dated model by its undated id too, which their lists may leave out. */
function offers(models: readonly ProviderModel[], model: string): boolean {
  return models.some(({ id }) => id === model || splitSnapshotDate(id).undated === model);
}

function usesModel(classes: readonly ClassConfig[], pool: string, model: string): boolean {
  return classes.some(({ candidates }) =>
    candidates.some((candidate) => candidate.pool === pool && candidate.model === model),
  );
}
