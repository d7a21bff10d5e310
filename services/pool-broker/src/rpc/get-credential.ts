import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { GatewayError } from '@gateway/errors';
import type { CredentialService, GetCredentialRequest } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { Handlers } from '@gateway/rpc';
import type { Account } from '../accounts/account.ts';
import type { Broker } from '../broker.ts';
import { usableAccount } from '../leasing/usable-account.ts';

/** How to reach an account's provider and what to authenticate with. */
export function getCredential(broker: Broker): Handlers<typeof CredentialService>['getCredential'] {
  return async ({ target, refusedVersion }) => {
    const account = await accountOf(broker, target);
    const pool = broker.catalog.pools.find(({ name }) => name === account?.pool);
    if (account === undefined || account.state === 'disabled' || pool === undefined) {
      throw new GatewayError('providers_unavailable', 'There is no such account, or it may not be used.');
    }
    const { kind, text, version, cacheableUntilMs } = await broker.credentials.secretOf(account, refusedVersion);
    return {
      accountId: account.id,
      baseUrl: pool.baseUrl,
      secret: { case: kind === 'bearer' ? 'bearer' : 'apiKey', value: text },
      cacheableUntil: timestampFromMs(Math.floor(cacheableUntilMs)),
      version,
    };
  };
}

async function accountOf(broker: Broker, target: GetCredentialRequest['target']): Promise<Account | undefined> {
  if (target.case === 'accountId') return broker.roster.byId(target.value);
  return target.case === 'pool' ? usableAccount(broker, target.value) : undefined;
}
