import type { ClassConfig, GatewayConfig, PoolConfig, PoolFormat } from '@gateway/config';
import type { Clock } from '@gateway/time';
import { neededAt, type Removed } from '../configuration/removed.ts';
import type { PoolStore } from '../store/pool-store.ts';
import { ChangeSignal } from './change-signal.ts';
import { type ListedModel, listModels } from './list-models.ts';
import {
  currentUntilMs,
  expectedWithin,
  isCurrent,
  type ModelReport,
  type PoolModels,
  type ProviderModel,
} from './model-report.ts';
import { type Candidate, resolveModel } from './resolve-model.ts';
import { ResolvedModels } from './resolved-models.ts';

/** What model ids mean now. Answers from memory; reports of other replicas come in by `refresh`. */
export class Catalog {
  #pools: readonly PoolConfig[] = [];
  #removedPools: readonly Removed<PoolConfig>[] = [];
  #poolsWithAccounts: readonly PoolConfig[] = [];
  #classes: readonly ClassConfig[] = [];
  #refreshMs = 0;
  readonly #store: PoolStore;
  readonly #clock: Clock;
  readonly #reports = new Map<string, ModelReport>();
  readonly #changes = new ChangeSignal();
  #resolved: ResolvedModels | undefined;

  constructor(gateway: GatewayConfig, store: PoolStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    this.configure(gateway);
  }

  /** Goes over to another configuration. `removedPools` are those that leases may still be out for. */
  configure(gateway: GatewayConfig, removedPools: readonly Removed<PoolConfig>[] = []): void {
    const used = new Set(gateway.accounts.map(({ pool }) => pool));
    this.#pools = gateway.pools;
    this.#removedPools = removedPools;
    this.#poolsWithAccounts = gateway.pools.filter(({ name }) => used.has(name));
    this.#classes = gateway.classes;
    for (const report of this.#reports.values())
      this.#reports.set(report.pool, expectedWithin(report, this.#refreshMs));
    this.#refreshMs = gateway.settings.modelListRefreshMs;
    const names = new Set(this.pools.map(({ name }) => name));
    for (const pool of this.#reports.keys()) if (!names.has(pool)) this.#reports.delete(pool);
    this.#onChange();
  }

  /** All configured pools, and those that were removed a while ago: requests that began with them still need to be told where. */
  get pools(): readonly PoolConfig[] {
    const removed = neededAt(this.#removedPools, this.#clock.nowMs());
    return removed.length === 0 ? this.#pools : [...this.#pools, ...removed.map(({ value }) => value)];
  }

  /**
   * The candidates of a model id, in order of preference. `formats` empty: any. The same ones as long as nothing has changed:
   * every request asks.
   */
  resolve(model: string, formats: ReadonlySet<PoolFormat>): readonly Candidate[] {
    const resolved = this.#resolvedNow();
    const known = resolved.get(model, formats);
    if (known !== undefined) return known;
    const candidates = resolveModel({ model, formats, classes: this.#classes, pools: this.#poolModels() });
    resolved.keep(model, formats, candidates);
    return candidates;
  }

  listing(): readonly ListedModel[] {
    return listModels(this.#classes, this.#poolModels());
  }

  /** When a pool's models were last reported on, in epoch milliseconds. Undefined: never. */
  reportedAtMs(pool: string): number | undefined {
    return this.#reports.get(pool)?.reportedAtMs;
  }

  /** Takes what a pool's provider offers now; `models` undefined: its list could not be read. */
  async report(pool: string, models: readonly ProviderModel[] | undefined): Promise<void> {
    const reachable = models !== undefined;
    const report = { pool, reportedAtMs: this.#clock.nowMs(), reachable, refreshMs: this.#refreshMs, models };
    this.#take(report);
    this.#onChange();
    await this.#store.saveModelReport(report);
  }

  /** Takes over what other replicas were told. Lists that nobody reports on any more fall out of sight. */
  async refresh(): Promise<void> {
    for (const report of await this.#store.readModelReports(this.pools.map(({ name }) => name))) this.#take(report);
    this.#onChange();
  }

  /** The listing now, and again whenever it changes, until the signal is aborted. */
  async *watch(signal: AbortSignal): AsyncGenerator<readonly ListedModel[]> {
    let shown: string | undefined;
    while (!signal.aborted) {
      const listing = this.listing();
      const text = JSON.stringify(listing);
      if (text === shown) {
        await this.#changes.next(signal);
      } else {
        shown = text;
        yield listing;
      }
    }
  }

  #onChange(): void {
    this.#resolved = undefined;
    this.#changes.notify();
  }

  /** What is known already of the meaning of model ids: until a change, or until a list stops being current. */
  #resolvedNow(): ResolvedModels {
    const nowMs = this.#clock.nowMs();
    if (this.#resolved?.holdsAt(nowMs)) return this.#resolved;
    const ends = this.#reports.values().map((report) => currentUntilMs(report, this.#refreshMs));
    const untilMs = Math.min(...ends.filter((endMs) => endMs >= nowMs));
    this.#resolved = new ResolvedModels(nowMs, untilMs);
    return this.#resolved;
  }

  /** A report that could not read the list keeps the list that we know. */
  #take(report: ModelReport): void {
    const known = this.#reports.get(report.pool);
    if (known !== undefined && known.reportedAtMs > report.reportedAtMs) return;
    const isSame = known?.reportedAtMs === report.reportedAtMs;
    const taken = { ...report, models: report.models ?? known?.models };
    this.#reports.set(report.pool, isSame ? expectedWithin(taken, known.refreshMs ?? 0) : taken);
  }

  #poolModels(): readonly PoolModels[] {
    const nowMs = this.#clock.nowMs();
    return this.#poolsWithAccounts.map((pool) => {
      const report = this.#reports.get(pool.name);
      return { pool, reachable: isCurrent(report, nowMs, this.#refreshMs), models: report?.models ?? [] };
    });
  }
}
