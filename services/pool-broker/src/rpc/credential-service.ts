import { GatewayError } from '@gateway/errors';
import type { CredentialService, GetCredentialRequest } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { Handlers } from '@gateway/rpc';
import type { Account } from '../accounts/account.ts';
import { type AccountView, availabilityOf } from '../health/eligibility.ts';
import type { Broker } from '../selection/broker.ts';
import { readAccounts } from '../selection/read-candidates.ts';

/** Returns the address of an account's provider and the secret to authenticate with. */
export function credentialHandlers(broker: Broker): Handlers<typeof CredentialService> {
  return {
    async getCredential({ target, refusedVersion }) {
      const account = await accountOf(broker, target);
      const pool = broker.configuration.catalog.pools.find(({ name }) => name === account?.pool);
      if (account === undefined || account.state === 'disabled' || pool === undefined) {
        if (target.case === 'pool') throw new GatewayError('not_found', 'The pool has no usable account.');
        throw new GatewayError('providers_unavailable', 'The account does not exist, or is not usable.');
      }
      const { kind, text, version, cacheableUntilMs } = await broker.credentials.secretOf(account, refusedVersion);
      return {
        accountId: account.id,
        baseUrl: pool.baseUrl,
        secret: { case: kind === 'bearer' ? 'bearer' : 'apiKey', value: text },
        cacheableUntilMs: Math.floor(cacheableUntilMs),
        cacheableForMs: Math.floor(Math.max(0, cacheableUntilMs - broker.store.nowMs())),
        version,
      };
    },
  };
}

async function accountOf(broker: Broker, target: GetCredentialRequest['target']): Promise<Account | undefined> {
  if (target.case === 'accountId') return broker.configuration.accounts.byId(target.value);
  return target.case === 'pool' ? usableAccount(broker, target.value) : undefined;
}

/**
 * An account to read the pool's model list with. A limited one is acceptable: limits do not apply
 * to lists.
 */
async function usableAccount(broker: Broker, pool: string): Promise<Account | undefined> {
  const views = await readAccounts(broker, broker.configuration.accounts.ofPool(pool));
  const nowMs = broker.store.nowMs();
  const reluctance = ({ account, health }: AccountView) => {
    const availability = availabilityOf(health, { model: '' }, nowMs);
    const byHealth = { available: 0, probe_due: 2, cooling: 6, probing: 6 }[availability.kind];
    const isLimited = 'limitOnly' in availability && availability.limitOnly;
    return byHealth - (isLimited ? 2 : 0) + (account.state === 'draining' ? 1 : 0);
  };
  const usable = views.filter(({ account }) => account.state !== 'disabled');
  return usable.toSorted((one, other) => reluctance(one) - reluctance(other))[0]?.account;
}
