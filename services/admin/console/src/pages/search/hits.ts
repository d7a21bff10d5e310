import { accountLink } from '../../frame/address.ts';

export interface Hit {
  readonly to: string;
  readonly kind: string;
  readonly name: string;
}

/** A pool by a part of its name, and accounts by a part of theirs, or of "<pool>/<name>". */
export function hitsInPool(
  pool: string,
  accounts: readonly { readonly id: string; readonly name: string }[],
  text: string,
): readonly Hit[] {
  const wanted = text.toLowerCase();
  if (wanted === '') return [];
  const has = (name: string) => name.toLowerCase().includes(wanted);
  return [
    ...(has(pool) ? [{ to: `/pools/${pool}`, kind: 'Pool', name: pool }] : []),
    ...accounts
      .filter(({ id, name }) => has(name) || (wanted.includes('/') && has(id)))
      .slice(0, mostAccounts)
      .map(({ id }) => ({ to: accountLink(id), kind: 'Account', name: id })),
  ];
}

/** More hits can't be read; the pool's page has all accounts. */
const mostAccounts = 50;
