import { type Account, AccountState, ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';

/** A configured pool with its accounts. */
export interface PoolAccounts {
  readonly name: string;
  readonly format: ProviderFormat;
  readonly accounts: readonly Pick<Account, 'state'>[];
}

/** A pool that leaves an endpoint without any account. */
export interface UnservedPool {
  readonly name: string;
  readonly format: ProviderFormat;
  /** What does not work, in one sentence. */
  readonly text: string;
}

/**
 * The pools without an account that can be used, if no other pool of their format has one. A
 * provider that limits or rejects an account now does not make it unusable.
 */
export function unservedPools(pools: readonly PoolAccounts[]): readonly UnservedPool[] {
  const served = new Set(pools.filter(({ accounts }) => accounts.some(isUsable)).map(({ format }) => format));
  return pools.flatMap(({ name, format }) => {
    const endpoint = endpoints[format];
    if (endpoint === undefined || served.has(format)) return [];
    const text = `The pool ${name} has no usable account: its models, ${endpoint} and failover to it do not work.`;
    return [{ name, format, text }];
  });
}

function isUsable({ state }: Pick<Account, 'state'>): boolean {
  return state !== AccountState.DISABLED && state !== AccountState.DRAINING;
}

/** The endpoint that only pools of the format serve. */
const endpoints: Readonly<Partial<Record<ProviderFormat, string>>> = {
  [ProviderFormat.RESPONSES]: '/v1/responses',
  [ProviderFormat.MESSAGES]: '/v1/messages',
};
