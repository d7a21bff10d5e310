import type { Checker, Evidence } from './evidence.ts';

export const leasesReturn: Checker = {
  promise: 'the places of all accounts come back',
  check({ leases, unreportedLeases, reportsGivenUp }: Evidence) {
    return [
      ...unreportedLeases.slice(reportsGivenUp).map((leaseId) => `the end of lease ${leaseId} is not reported`),
      ...left(leases, 'leases have not expired'),
    ];
  },
};

function left(counts: ReadonlyMap<string, number>, what: string): readonly string[] {
  return [...counts].filter(([, count]) => count > 0).map(([account, count]) => `${account}: ${count} ${what}`);
}
