import type { AccountView } from './eligibility.ts';
import { windowsAt } from './eligibility.ts';
import { type Exhaustion, exhaustionOf } from './exhaustion.ts';

export interface QuotaForecast {
  readonly pool: string;
  /** The family of models whose quotas count besides those of whole accounts. Empty: none. */
  readonly models: string;
  readonly exhaustion: Exhaustion;
}

/** How long the quotas of each pool will last: those of whole accounts first, then of each family that has quotas of its own. */
export function forecastsOf(views: readonly AccountView[], nowMs: number): readonly QuotaForecast[] {
  return [...Map.groupBy(views, ({ account }) => account.pool)].flatMap(([pool, ofPool]) => {
    const serving = ofPool.filter(isInService).map(({ health }) => health);
    const families = new Set(serving.flatMap((health) => windowsAt(health, nowMs).map(({ models }) => models)));
    families.delete('');
    return ['', ...[...families].sort()].map((models) => ({
      ...{ pool, models },
      exhaustion: exhaustionOf(serving, models, nowMs),
    }));
  });
}

/** Disabled and draining accounts take nothing, however much they have left. */
export function isInService({ account }: Pick<AccountView, 'account'>): boolean {
  return account.state === 'active';
}
