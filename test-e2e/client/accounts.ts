import type { Topology } from '../topologies/topology.ts';

/** How many requests the broker counts as under way with an account. */
export async function inFlightOf({ operator }: Pick<Topology, 'operator'>, accountId: string): Promise<number> {
  const accounts = await operator.accountsOf(accountId.slice(0, accountId.indexOf('/')));
  return accounts.find(({ id }) => id === accountId)?.inFlight ?? 0;
}

/**
 * Whether a further round is due, of a test that has to meet two accounts. They are chosen at random: a few rounds may all meet the
 * same one, forty don't.
 */
export function goesOn(asked: {
  readonly round: number;
  readonly atLeast: number;
  readonly accounts: readonly unknown[];
}) {
  return asked.round <= asked.atLeast || (asked.round <= 40 && new Set(asked.accounts).size < 2);
}
