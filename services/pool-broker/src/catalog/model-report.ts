import type { PoolConfig } from '@gateway/config';

/** A model as its provider lists it. */
export interface ProviderModel {
  readonly id: string;
  /** Empty when the provider has no name for it. */
  readonly displayName: string;
}

/** What was last heard of a pool's model list. */
export interface ModelReport {
  readonly pool: string;
  readonly reportedAtMs: number;
  /** False: the list could not be read at that time. */
  readonly reachable: boolean;
  /** How often reports were to come when it came, or since then if that was longer. Undefined: not known. */
  readonly refreshMs?: number | undefined;
  /** The last list that could be read. Undefined: none ever. */
  readonly models: readonly ProviderModel[] | undefined;
}

/** A pool with what is known of its models now. */
export interface PoolModels {
  readonly pool: PoolConfig;
  /** True when the provider's list is known and current; then it is the whole truth of what the pool offers. */
  readonly reachable: boolean;
  /** The current list, or the last known one. */
  readonly models: readonly ProviderModel[];
}

/** A report counts as long as the next ones may be late or lost: three times the time between them. */
export function isCurrent(report: ModelReport | undefined, nowMs: number, refreshMs: number): boolean {
  return report?.reachable === true && nowMs <= currentUntilMs(report, refreshMs);
}

/** The report, after which the next one may take so long. */
export function expectedWithin(report: ModelReport, refreshMs: number): ModelReport {
  return { ...report, refreshMs: Math.max(refreshMs, report.refreshMs ?? 0) };
}

/** The last moment at which a report counts. Adapters go by the time that held when they last asked: both are waited for. */
export function currentUntilMs(report: ModelReport, refreshMs: number): number {
  return report.reportedAtMs + 3 * Math.max(refreshMs, report.refreshMs ?? 0);
}
