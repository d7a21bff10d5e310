import type { Checker, Evidence } from './evidence.ts';

export const leasesReturn: Checker = {
  promise: 'the places of all accounts come back',
  check({ leases }: Evidence) {
    return [...leases]
      .filter(([, count]) => count > 0)
      .map(([account, count]) => `${account}: ${count} leases are left`);
  },
};
