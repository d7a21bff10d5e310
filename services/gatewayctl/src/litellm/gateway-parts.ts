import type { Deployment } from './deployments.ts';
import { hasKnownEfforts } from './providers.ts';

/** A pool of gateway.yaml: all deployments at one address. */
export interface ImportedPool {
  readonly name: string;
  readonly format: Deployment['format'];
  readonly ownedBy: string;
  readonly baseUrl: string;
  readonly accounts: readonly ImportedAccount[];
  /** The ids of its models, without patterns. */
  readonly models: readonly string[];
  /** Ids of the pool while the provider's list is unknown. Undefined: the default. */
  readonly modelPatterns: readonly string[] | undefined;
  /** Models that may support no reasoning effort. */
  readonly modelsWithoutEffort: readonly string[];
}

/** An account: all deployments of a pool with one key and the same tags. */
export interface ImportedAccount {
  readonly name: string;
  readonly key: string;
  /** Undefined: all models of the pool. */
  readonly models: readonly string[] | undefined;
  readonly labels: readonly string[];
  readonly maxConcurrency: number | undefined;
  readonly deployments: readonly Deployment[];
}

/** Groups deployments by their addresses, in the order of the file. */
export function poolsOf(deployments: readonly Deployment[]): readonly ImportedPool[] {
  const byAddress = Map.groupBy(deployments, ({ format, baseUrl }) => `${format} ${baseUrl}`);
  const names = new Names();
  return [...byAddress.values()].flatMap(([first, ...others]) => {
    if (first === undefined) return [];
    const all = [first, ...others];
    const models = [...new Set(all.map(({ model }) => model))];
    const exact = models.filter((model) => !model.includes('*'));
    return {
      name: names.free(first.provider.replaceAll('_', '-')),
      format: first.format,
      ownedBy: first.provider,
      baseUrl: first.baseUrl,
      accounts: accountsOf(all),
      models: exact,
      modelPatterns: models.includes('*') ? undefined : models,
      modelsWithoutEffort: exact.filter((model) => first.format === 'responses' && hasNoEffort(model, all)),
    };
  });
}

/** The pool of a deployment. */
export function poolOf(pools: readonly ImportedPool[], { format, baseUrl }: Deployment): ImportedPool | undefined {
  return pools.find((pool) => pool.format === format && pool.baseUrl === baseUrl);
}

function accountsOf(deployments: readonly Deployment[]): readonly ImportedAccount[] {
  const byKey = Map.groupBy(deployments, ({ key, tags }) => JSON.stringify([key.written, tags]));
  const names = new Names();
  return [...byKey.values()].flatMap(([first, ...others]) => {
    if (first === undefined) return [];
    const all = [first, ...others];
    const models = [...new Set(all.map(({ model }) => model))];
    return {
      name: names.free(first.key.accountName),
      key: first.key.written,
      models: models.includes('*') ? undefined : models,
      labels: first.tags,
      maxConcurrency: concurrencyOf(all),
      deployments: all,
    };
  });
}

/** The bounds of deployments add up. If one has none, the account has none. */
function concurrencyOf(deployments: readonly Deployment[]): number | undefined {
  const bounds = deployments.flatMap(({ maxConcurrency }) => maxConcurrency ?? []);
  const sum = bounds.reduce((total, bound) => total + bound, 0);
  const isWhole = bounds.length === deployments.length && Number.isInteger(sum) && sum >= 1 && sum <= 100_000;
  for (const { input } of deployments) {
    const bound = input.at('litellm_params', 'max_parallel_requests');
    if (!bound.isGiven) continue;
    if (isWhole) bound.take();
    else bound.leave('An account has one bound, and not all models with this key have one: set its max_concurrency.');
  }
  return isWhole ? sum : undefined;
}

function hasNoEffort(model: string, deployments: readonly Deployment[]): boolean {
  const its = deployments.filter((each) => each.model === model);
  return !hasKnownEfforts(model) && !its.some(({ supportsReasoning, effort }) => supportsReasoning || effort);
}

/** Names that are used once. */
export class Names {
  readonly #used = new Set<string>();

  free(wanted: string): string {
    const clean = wanted.replaceAll(/[^A-Za-z0-9._-]/g, '-').replace(/^[^A-Za-z]+/, '') || 'imported';
    for (let number = 1; ; number += 1) {
      const name = number === 1 ? clean : `${clean}-${number}`;
      if (this.#used.has(name)) continue;
      this.#used.add(name);
      return name;
    }
  }
}
