import { EventEmitter, once } from 'node:events';
import { isDeepStrictEqual } from 'node:util';
import { create } from '@bufbuild/protobuf';
import type { AccountConfig, GatewayConfig, PoolConfig, PoolFormat } from '@gateway/config';
import type { ServiceRuntime } from '@gateway/lifecycle';
import { matchesAnyPattern } from '@gateway/presentation/model-pattern';
import { PriceBook } from '@gateway/prices';
import { ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import { PriceListSchema } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { sleep } from '@gateway/time';
import { LRUCache } from 'lru-cache';
import { hasLabels, type LabelSets, noneRemoved, type Removed, removedParts } from '../accounts/account.ts';
import { toPriceList } from '../rpc/catalog-messages.ts';
import type { PoolStore } from '../store/pool-store.ts';
import type { ModelReport, ProviderModel, ServedModel } from './list-models.ts';
import { listModels, splitSnapshotDate } from './list-models.ts';
import { traitsOfModel } from './model-traits.ts';

export interface Candidate {
  readonly pool: PoolConfig;
  readonly model: string;
  /** The effort of a class for requests that name none. Empty for a direct model. */
  readonly defaultEffort: string;
  /** See `Lease.modelUnlisted`. */
  readonly isUnlisted?: boolean;
  /** See `Lease.traits`. */
  readonly traits?: ReturnType<typeof traitsOfModel>;
}

export interface PricedListing extends Pick<GatewayConfig, 'prices' | 'managedSettings'> {
  readonly models: readonly ServedModel[];
}

/** The accounts that have exactly the same labels. */
interface LabelledAccounts {
  readonly labels: readonly string[];
  readonly pools: readonly PoolConfig[];
  readonly byPool: ReadonlyMap<string, readonly AccountConfig[]>;
}

/**
 * Resolves model ids to pools. It answers from memory; `refresh` adds reports of other replicas.
 */
export class Catalog {
  #gateway: GatewayConfig;
  #prices = new PriceBook();
  #poolsWithAccounts: readonly PoolConfig[] = [];
  #byLabels: readonly LabelledAccounts[] = [];
  /** The candidates of all classes, as `pool/model`. */
  #ofClasses: ReadonlySet<string> = new Set();
  readonly #removedPools: Removed<PoolConfig>;
  readonly #store: PoolStore;
  readonly #reports = new Map<string, ModelReport>();
  /** The names under which each pool's provider takes its models: listed ids, and those undated. */
  readonly #offered = new Map<string, ReadonlySet<string>>();
  readonly #changes = new EventEmitter().setMaxListeners(0);
  /**
   * The most recently requested models, for as long as the times below allow. Bounded, because
   * clients may make up names of models.
   */
  readonly #candidates = new LRUCache<string, readonly Candidate[]>({
    maxSize: 1_000_000,
    sizeCalculation: (_candidates, question) => question.length,
  });
  #candidatesFromMs = Number.POSITIVE_INFINITY;
  #candidatesUntilMs = Number.NEGATIVE_INFINITY;

  constructor(gateway: GatewayConfig, store: PoolStore) {
    this.#gateway = gateway;
    this.#store = store;
    this.#removedPools = noneRemoved(() => store.nowMs());
    this.configure(gateway);
  }

  configure(gateway: GatewayConfig): void {
    const { pools, settings } = this.#gateway;
    for (const pool of pools) this.#removedPools.set(pool.name, pool, { ttl: settings.leaseTtlMs - 1 });
    for (const { name } of gateway.pools) this.#removedPools.delete(name);
    const used = new Set(gateway.accounts.map(({ pool }) => pool));
    this.#poolsWithAccounts = gateway.pools.filter(({ name }) => used.has(name));
    this.#byLabels = accountsByLabels(gateway.accounts, this.#poolsWithAccounts);
    this.#ofClasses = new Set(
      gateway.classes.flatMap(({ candidates }) => candidates.map(({ pool, model }) => `${pool}/${model}`)),
    );
    this.#gateway = gateway;
    this.#prices = new PriceBook(create(PriceListSchema, toPriceList(gateway.prices)));
    const names = new Set(this.pools.map(({ name }) => name));
    for (const [pool, report] of this.#reports) {
      if (names.has(pool)) {
        this.#reports.set(pool, withRefresh(report, this.#refreshMs));
      } else {
        this.#reports.delete(pool);
        this.#offered.delete(pool);
      }
    }
    this.#onChange();
  }

  /**
   * All configured pools, and recently removed ones: requests that use them still need their
   * address.
   */
  get pools(): readonly PoolConfig[] {
    return [...this.#gateway.pools, ...removedParts(this.#removedPools)];
  }

  /**
   * The candidates for a model id, in order of preference. `formats`: the formats that the endpoint
   * can use; empty: any. `labelSets`: a pool without an account that has these labels, and that may
   * serve the model, is no candidate.
   */
  resolve(model: string, formats: readonly PoolFormat[], labelSets: LabelSets = []): readonly Candidate[] {
    this.#forgetOutdated();
    const question =
      labelSets.length === 0 ? `${formats} ${model}` : `${formats} ${JSON.stringify(labelSets)} ${model}`;
    const known = this.#candidates.get(question);
    if (known !== undefined) return known;
    const candidates = this.#resolve(model, formats, labelSets);
    this.#candidates.set(question, candidates);
    return candidates;
  }

  /** Whether a model has a price on a local day. */
  hasPrice(model: string, localDay: string): boolean {
    return this.#prices.hasPrice(model, localDay);
  }

  listing(): readonly ServedModel[] {
    const pools = this.#poolsWithAccounts.map((pool) => ({
      pool,
      reachable: this.#isCurrent(pool.name),
      models: this.#reports.get(pool.name)?.models ?? [],
    }));
    return listModels(this.#gateway.classes, pools).map((model) => ({
      ...model,
      servedBy: this.#byLabels.filter((accounts) => this.#canServe(accounts, model.id)).map(({ labels }) => labels),
    }));
  }

  /** The last report on a pool's models. */
  reportOn(pool: string): ModelReport | undefined {
    return this.#reports.get(pool);
  }

  /**
   * Stores the models that a pool's provider currently offers; `models` undefined: the list could
   * not be read, because of `cause`.
   */
  async report(pool: string, models: readonly ProviderModel[] | undefined, cause?: string): Promise<void> {
    const reachable = models !== undefined;
    const report = { pool, reportedAtMs: this.#store.nowMs(), reachable, cause, refreshMs: this.#refreshMs, models };
    // Most reports repeat the last one: they change no answer, and wake no watcher.
    const isRepeated = reachable && this.#isCurrent(pool) && isDeepStrictEqual(models, this.#reports.get(pool)?.models);
    this.#take(report);
    if (!isRepeated) this.#onChange();
    await this.#store.saveModelReport(report);
  }

  /**
   * Loads the reports that other replicas received. A list without further reports becomes
   * outdated.
   */
  async refresh(): Promise<void> {
    for (const report of await this.#store.readModelReports(this.pools.map(({ name }) => name))) this.#take(report);
    this.#onChange();
  }

  /**
   * The current listing with what else the file says, and again on each change, until the abort.
   */
  async *watch(signal: AbortSignal): AsyncGenerator<PricedListing> {
    let shown: string | undefined;
    while (!signal.aborted) {
      const { prices, managedSettings } = this.#gateway;
      const listing = { models: this.listing(), prices, managedSettings };
      const text = JSON.stringify(listing);
      if (text === shown) {
        await once(this.#changes, 'change', { signal }).catch(() => undefined);
      } else {
        shown = text;
        yield listing;
      }
    }
  }

  #canServe({ pools, byPool }: LabelledAccounts, model: string): boolean {
    const candidates = this.#resolveIn(
      model,
      pools,
      ({ name }, id) => byPool.get(name)?.some((account) => mayServe(account, id)) === true,
    );
    return candidates.length > 0;
  }

  #resolve(model: string, formats: readonly PoolFormat[], labelSets: LabelSets): readonly Candidate[] {
    const pools = this.#poolsWithAccounts.filter(({ format }) => formats.length === 0 || formats.includes(format));
    if (labelSets.length === 0) return this.#resolveIn(model, pools, () => true);
    const allowed = this.#gateway.accounts.filter(({ labels = [] }) => hasLabels({ labels }, labelSets));
    return this.#resolveIn(model, pools, ({ name }, id) =>
      allowed.some((account) => account.pool === name && mayServe(account, id)),
    );
  }

  #resolveIn(
    model: string,
    all: readonly PoolConfig[],
    canServe: (pool: PoolConfig, model: string) => boolean,
  ): readonly Candidate[] {
    const modelClass = this.#gateway.classes.find(({ id }) => id === model);
    if (modelClass === undefined) {
      const isAble = (pool: PoolConfig) => canServe(pool, model);
      const listed = this.#poolOf(model, all, isAble);
      const pool = listed ?? this.#poolByPattern(model, all, isAble);
      return pool === undefined ? [] : [candidateOf(pool, model, '', listed === undefined)];
    }
    return modelClass.candidates.flatMap((candidate) => {
      const pool = all.find(({ name }) => name === candidate.pool);
      return pool === undefined || !canServe(pool, candidate.model)
        ? []
        : [candidateOf(pool, candidate.model, modelClass.effort)];
    });
  }

  /**
   * Candidates are valid until a report arrives or the first current model list becomes outdated.
   */
  #forgetOutdated(): void {
    const nowMs = this.#store.nowMs();
    if (nowMs >= this.#candidatesFromMs && nowMs <= this.#candidatesUntilMs) return;
    this.#candidates.clear();
    const ends = [...this.#reports.values()].map((report) => this.#currentUntilMs(report));
    this.#candidatesFromMs = nowMs;
    this.#candidatesUntilMs = Math.min(...ends.filter((untilMs) => untilMs >= nowMs));
  }

  #onChange(): void {
    this.#candidatesUntilMs = Number.NEGATIVE_INFINITY;
    this.#changes.emit('change');
  }

  get #refreshMs(): number {
    return this.#gateway.settings.modelListRefreshMs;
  }

  /** A report that could not read the list keeps the known list. */
  #take(report: ModelReport): void {
    const known = this.#reports.get(report.pool);
    if (known !== undefined && known.reportedAtMs > report.reportedAtMs) return;
    const models = report.models ?? known?.models;
    if (models !== known?.models) this.#offered.set(report.pool, offeredNames(models ?? []));
    const isSame = known?.reportedAtMs === report.reportedAtMs;
    this.#reports.set(report.pool, withRefresh({ ...report, models }, isSame ? (known.refreshMs ?? 0) : 0));
  }

  /**
   * A current list has precedence, then the configuration, then the known models of pools whose
   * list is not current.
   */
  #poolOf(model: string, pools: readonly PoolConfig[], isAble: (pool: PoolConfig) => boolean): PoolConfig | undefined {
    const isUsed = ({ name }: PoolConfig) => this.#ofClasses.has(`${name}/${model}`);
    const offering = pools.filter(({ name }) => this.#offered.get(name)?.has(model));
    const current = offering.find((pool) => this.#isCurrent(pool.name) && isAble(pool));
    return current ?? pools.find((pool) => isUsed(pool) && isAble(pool)) ?? offering.find(isAble);
  }

  /** The pool for a model that no list contains, while a pool's list is not current. */
  #poolByPattern(
    model: string,
    pools: readonly PoolConfig[],
    isAble: (pool: PoolConfig) => boolean,
  ): PoolConfig | undefined {
    return pools
      .filter(({ name }) => !this.#isCurrent(name))
      .find((pool) => matchesAnyPattern(model, pool.modelPatterns) && isAble(pool));
  }

  #isCurrent(pool: string): boolean {
    const report = this.#reports.get(pool);
    return report !== undefined && this.#store.nowMs() <= this.#currentUntilMs(report);
  }

  /**
   * A report is valid for three report intervals. Adapters use the interval that was configured
   * when they last asked.
   */
  #currentUntilMs({ reachable, reportedAtMs, refreshMs = 0 }: ModelReport): number {
    return reachable ? reportedAtMs + 3 * Math.max(this.#refreshMs, refreshMs) : Number.NEGATIVE_INFINITY;
  }
}

function accountsByLabels(
  accounts: readonly AccountConfig[],
  pools: readonly PoolConfig[],
): readonly LabelledAccounts[] {
  const groups = Map.groupBy(accounts, ({ labels = [] }) => JSON.stringify(labels.toSorted()));
  return [...groups].map(([labels, its]) => {
    const byPool = Map.groupBy(its, ({ pool }) => pool);
    return { labels: JSON.parse(labels), pools: pools.filter(({ name }) => byPool.has(name)), byPool };
  });
}

/** Providers accept a dated model by its undated id too, which their lists may leave out. */
function offeredNames(models: readonly ProviderModel[]): ReadonlySet<string> {
  return new Set(models.flatMap(({ id }) => [id, splitSnapshotDate(id).undated]));
}

function mayServe({ models }: Pick<AccountConfig, 'models'>, model: string): boolean {
  return models === undefined || matchesAnyPattern(model, models);
}

function candidateOf(pool: PoolConfig, model: string, defaultEffort: string, isUnlisted = false): Candidate {
  return { pool, model, defaultEffort, isUnlisted, traits: traitsOfModel(pool, model) };
}

function withRefresh(report: ModelReport, refreshMs: number): ModelReport {
  return { ...report, refreshMs: Math.max(refreshMs, report.refreshMs ?? 0) };
}

export const providerFormats: Readonly<Record<PoolFormat, ProviderFormat>> = {
  responses: ProviderFormat.RESPONSES,
  messages: ProviderFormat.MESSAGES,
};

export async function followReports(catalog: Catalog, signal: AbortSignal, logger: ServiceRuntime['logger']) {
  let lastReason: string | undefined;
  for (;;) {
    await sleep(5_000, { signal, ref: false }).catch(() => undefined);
    if (signal.aborted) return;
    const reason = await catalog.refresh().then(
      () => undefined,
      (thrown: unknown) => (thrown instanceof Error ? thrown.message : String(thrown)),
    );
    // Once for an outage.
    if (reason !== undefined && reason !== lastReason)
      logger.warn({ reason }, 'model lists of other replicas could not be read');
    lastReason = reason;
  }
}
