import type { Topology } from '../topologies/topology.ts';

/** How many requests the broker counts as under way with an account. */
export async function inFlightOf({ brokerAdminUrl }: Pick<Topology, 'brokerAdminUrl'>, accountId: string) {
  const response = await fetch(`${brokerAdminUrl}/gateway.pool.v1.PoolBrokerService/ListAccounts`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ pool: accountId.slice(0, accountId.indexOf('/')) }),
    signal: AbortSignal.timeout(10_000),
  });
  if (!response.ok) throw new Error(`ListAccounts answered ${response.status}: ${await response.text()}`);
  const { accounts = [] } = (await response.json()) as {
    readonly accounts?: readonly { readonly id: string; readonly inFlight?: number }[];
  };
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
