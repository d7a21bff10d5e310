import type { AccountConfig } from '@gateway/config';
import type { Account } from '../accounts/account.ts';
import { AccountRoster } from '../accounts/account-roster.ts';

/**
 * The configured accounts, and those that were removed a while ago: these can still be told by their id, so that requests
 * that began with them end as they would have, and are shown as draining.
 */
export class RosterWithRemoved extends AccountRoster {
  readonly #configuredIds: ReadonlySet<string>;

  constructor(configured: readonly AccountConfig[], removed: readonly AccountConfig[]) {
    super([...configured, ...removed.map((account) => ({ ...account, state: 'draining' as const }))]);
    this.#configuredIds = new Set(configured.map(accountIdOf));
  }

  /** Of a pool whose accounts are all removed, those: its model list may still be read. */
  override ofPool(pool: string): readonly Account[] {
    const all = super.ofPool(pool);
    const configured = all.filter(({ id }) => this.#configuredIds.has(id));
    return configured.length > 0 ? configured : all;
  }
}

export function accountIdOf({ pool, name }: AccountConfig): string {
  return `${pool}/${name}`;
}
