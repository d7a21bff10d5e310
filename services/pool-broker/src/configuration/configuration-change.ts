import type { AccountConfig, GatewayConfig } from '@gateway/config';
import { accountIdOf, credentialIdOf } from '../accounts/account.ts';

/** How one configuration differs from another. */
export interface ConfigurationChange {
  /** By name. */
  readonly pools: Difference;
  /** By id. */
  readonly accounts: Difference;
  /** By id. */
  readonly classes: Difference;
  /** Ids of accounts that authenticate with something else. */
  readonly newCredentials: readonly string[];
}

export interface Difference {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
}

export function changeBetween(before: GatewayConfig, after: GatewayConfig): ConfigurationChange {
  const credentials = differenceBetween(before.accounts, after.accounts, accountIdOf, ({ credential }) =>
    credentialIdOf(credential),
  );
  return {
    pools: differenceBetween(before.pools, after.pools, ({ name }) => name, JSON.stringify),
    accounts: differenceBetween(before.accounts, after.accounts, accountIdOf, accountText),
    classes: differenceBetween(before.classes, after.classes, ({ id }) => id, JSON.stringify),
    newCredentials: credentials.changed,
  };
}

/** Why a configuration can't take the place of another while the gateway runs. */
export function changeProblems(before: GatewayConfig, after: GatewayConfig): readonly string[] {
  const formats = new Map(before.pools.map(({ name, format }) => [name, format]));
  const otherFormat = after.pools.filter(({ name, format }) => formats.has(name) && formats.get(name) !== format);
  return [
    ...otherFormat.map(
      ({ name }) =>
        `pools.${name}.format: can't change while the gateway runs. Give the pool another name, or restart the gateway`,
    ),
    ...(after.accounts.length === 0 ? ['accounts: there is none, so nothing could be answered'] : []),
  ];
}

function differenceBetween<T>(
  before: readonly T[],
  after: readonly T[],
  keyOf: (value: T) => string,
  textOf: (value: T) => string,
): Difference {
  const textsBefore = new Map(before.map((value) => [keyOf(value), textOf(value)]));
  const textsAfter = new Map(after.map((value) => [keyOf(value), textOf(value)]));
  return {
    added: [...textsAfter.keys()].filter((key) => !textsBefore.has(key)),
    removed: [...textsBefore.keys()].filter((key) => !textsAfter.has(key)),
    changed: [...textsAfter].flatMap(([key, text]) =>
      textsBefore.has(key) && textsBefore.get(key) !== text ? [key] : [],
    ),
  };
}

function accountText(account: AccountConfig): string {
  return `${JSON.stringify(account)} ${credentialIdOf(account.credential)}`;
}
