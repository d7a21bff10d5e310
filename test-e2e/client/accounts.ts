import type { Topology } from '../topologies/topology.ts';

/** The number of requests in progress of an account, as the broker counts them. */
export async function inFlightOf({ operator }: Pick<Topology, 'operator'>, accountId: string): Promise<number> {
  const accounts = await operator.accountsOf(accountId.slice(0, accountId.indexOf('/')));
  return accounts.find(({ id }) => id === accountId)?.inFlight ?? 0;
}

/**
 * Whether a test that has to use two accounts needs a further round. They are chosen at random: a
 * few rounds may all get the same one, forty don't.
 */
export function goesOn(asked: {
  readonly round: number;
  readonly atLeast: number;
  readonly accounts: readonly unknown[];
}) {
  return asked.round <= asked.atLeast || (asked.round <= 40 && new Set(asked.accounts).size < 2);
}
