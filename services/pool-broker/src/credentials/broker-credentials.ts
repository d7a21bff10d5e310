import { EventEmitter, once } from 'node:events';
import type { GatewayConfig } from '@gateway/config';
import type { ServiceRuntime } from '@gateway/lifecycle';
import { accountIdOf } from '../accounts/account.ts';
import { AccountCredentials, type AccountCredentialsParts } from './account-credentials.ts';
import { AccountDirectory } from './account-directory.ts';
import { credentialEvents } from './credential-events.ts';
import type { CredentialStorage } from './credential-storage.ts';
import { MemoryGrantStore } from './grant-store.ts';
import { tokenEndpoint } from './token-endpoint.ts';
import { type RefresherParts, TokenRefresher } from './token-refresher.ts';

/** Everything of a broker that has to do with credentials. */
export function brokerCredentials(
  gateway: GatewayConfig,
  storage: CredentialStorage,
  runtime: ServiceRuntime,
  {
    clock,
    random,
    onRenewed,
    signal,
  }: Pick<AccountCredentialsParts & RefresherParts, 'clock' | 'random' | 'onRenewed' | 'signal'>,
) {
  const { grants, settings } = storage;
  const events = credentialEvents(runtime);
  const problems = new EventEmitter();
  const directory = new AccountDirectory(gateway, storage, events.accountsRefused);
  const { requestTimeoutMs, proxies } = settings;
  const shared = { clock, random, events, signal };
  const endpoint = tokenEndpoint(proxies);
  const refresher = new TokenRefresher({ store: grants, endpoint, requestTimeoutMs, ...shared });
  const onProblem = () => problems.emit('problem');
  const credentials = new AccountCredentials({ refresher, settings, clock, random, onProblem, onRenewed });

  /** Takes over the accounts of the database and their problems, and keeps access tokens fresh. */
  async function look(apply: (gateway: GatewayConfig) => Promise<void>): Promise<void> {
    try {
      await directory.read();
      await apply(directory.gateway);
    } catch (thrown) {
      events.notRead(thrown);
    }
    const accounts = directory.gateway.accounts.map((account) => ({ ...account, id: accountIdOf(account) }));
    credentials.retain(new Set(accounts.map(({ id }) => id)));
    // An account without requests keeps its tokens too: unused refresh tokens end, and one that pauses gets no request.
    const refreshed = accounts.filter(({ state, credential }) => credential.kind === 'oauth' && state !== 'disabled');
    await Promise.all(refreshed.map((account) => credentials.keepFresh(account)));
  }

  return {
    directory,
    credentials,
    /** Reads what is shared, and warns of what would not survive. Never throws: what can't be read is read later. */
    start: async (): Promise<void> => {
      await directory.read().catch(events.notRead);
      if (directory.oauthAccounts.length > 0 && grants instanceof MemoryGrantStore) events.tokensKeptInMemory();
    },
    /** Keeps to what is shared until the signal is aborted; `apply` is given what is configured each time. */
    follow: async (apply: (gateway: GatewayConfig) => Promise<void>): Promise<void> => {
      while (!signal.aborted) {
        await look(apply);
        const waiting = AbortSignal.any([signal, AbortSignal.timeout(settings.pollMs)]);
        await once(problems, 'problem', { signal: waiting }).catch(() => undefined);
      }
    },
    /** Resolves when no refresh is running: an answer that is not stored would be lost. */
    settled: (): Promise<void> => refresher.settled(),
  };
}
