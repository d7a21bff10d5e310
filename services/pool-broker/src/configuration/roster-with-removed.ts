import type { AccountConfig } from '@gateway/config';
import { AccountRoster } from '../accounts/account-roster.ts';

/**
 * The configured accounts, and those that were removed a while ago: these can still be told by their id, so that requests
 * that began with them end as they would have, and are shown as draining.
 */
export class RosterWithRemoved extends AccountRoster {
  constructor(configured: readonly AccountConfig[], removed: readonly AccountConfig[]) {
    const configuredIds = new Set(configured.map(accountIdOf));
    super([...configured, ...removed.map((account) => ({ ...account, state: 'draining' as const }))], (all) => {
      const offered = all.filter(({ id }) => configuredIds.has(id));
      // Of a pool whose accounts are all removed, those: its model list may still be read.
      return offered.length > 0 ? offered : all;
    });
  }
}

export function accountIdOf({ pool, name }: AccountConfig): string {
  return `${pool}/${name}`;
}
