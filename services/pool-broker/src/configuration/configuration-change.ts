import { ConfigError, type GatewayConfig } from '@gateway/config';
import { accountIdOf, credentialIdOf } from '../accounts/account.ts';

/** How one configuration differs from another. */
export interface ConfigurationChange {
  readonly pools: Difference;
  readonly accounts: Difference;
  readonly classes: Difference;
  /** Ids of accounts that authenticate with something else. */
  readonly newCredentials: readonly string[];
}

/** By id; pools by name. */
export interface Difference {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
}

export function changeBetween(before: GatewayConfig, after: GatewayConfig): ConfigurationChange {
  const credentialOf = ({ credential }: GatewayConfig['accounts'][number]) => credentialIdOf(credential);
  const accounts = [before.accounts, after.accounts] as const;
  return {
    pools: difference(before.pools, after.pools, ({ name }) => name, JSON.stringify),
    accounts: difference(...accounts, accountIdOf, (account) => JSON.stringify([account, credentialOf(account)])),
    classes: difference(before.classes, after.classes, ({ id }) => id, JSON.stringify),
    newCredentials: difference(...accounts, accountIdOf, credentialOf).changed,
  };
}

/** @throws ConfigError that says why a configuration can't take the place of another while the gateway runs. */
export function checkChange(before: GatewayConfig, after: GatewayConfig): void {
  const formats = new Map(before.pools.map(({ name, format }) => [name, format]));
  const otherFormat = after.pools.filter(({ name, format }) => formats.has(name) && formats.get(name) !== format);
  const problems = otherFormat.map(
    ({ name }) =>
      `pools.${name}.format: can't change while the gateway runs. Give the pool another name, or restart the gateway`,
  );
  if (after.accounts.length === 0) problems.push('accounts: there is none, so nothing could be answered');
  if (problems.length > 0) throw new ConfigError(problems);
}

function difference<T>(
  before: readonly T[],
  after: readonly T[],
  keyOf: (value: T) => string,
  textOf: (value: T) => string,
): Difference {
  const old = new Map(before.map((value) => [keyOf(value), textOf(value)]));
  const now = new Map(after.map((value) => [keyOf(value), textOf(value)]));
  return {
    added: [...now.keys()].filter((key) => !old.has(key)),
    removed: [...old.keys()].filter((key) => !now.has(key)),
    changed: [...now.keys()].filter((key) => old.has(key) && old.get(key) !== now.get(key)),
  };
}
