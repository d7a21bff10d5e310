import { EventEmitter, once } from 'node:events';
import type { GatewayConfig } from '@gateway/config';
import type { ServiceRuntime } from '@gateway/lifecycle';
import type { Clock } from '@gateway/time';
import { AccountCredentials } from './account-credentials.ts';
import { AccountDirectory } from './account-directory.ts';
import { type CredentialEvents, credentialEvents } from './credential-events.ts';
import type { CredentialStorage } from './credential-storage.ts';
import { MemoryGrantStore } from './grant-store.ts';
import { tokenEndpoint } from './token-endpoint.ts';
import { TokenRefresher } from './token-refresher.ts';

export type BrokerCredentials = ReturnType<typeof brokerCredentials>;

export interface BrokerCredentialsOptions {
  readonly clock: Clock;
  readonly random: () => number;
  /** See `AccountCredentialsParts.onRenewed`. */
  readonly onRenewed: (accountId: string, issuedAtMs: number) => void;
  /** Aborted when the broker stops. */
  readonly signal: AbortSignal;
}

/** Everything of a broker that has to do with credentials. */
export function brokerCredentials(
  gateway: GatewayConfig,
  { table, grants, encryption, settings }: CredentialStorage,
  runtime: ServiceRuntime,
  { clock, random, onRenewed, signal }: BrokerCredentialsOptions,
) {
  const events = credentialEvents(runtime);
  const problems = new EventEmitter();
  const directory = new AccountDirectory(gateway, { table, grants, encryption, onRefused: events.accountsRefused });
  const { requestTimeoutMs, proxies } = settings;
  const shared = { clock, random, events, signal };
  const refresher = new TokenRefresher({
    store: grants,
    endpoint: tokenEndpoint(proxies),
    requestTimeoutMs,
    ...shared,
  });
  const onProblem = () => problems.emit('problem');
  const credentials = new AccountCredentials({ refresher, settings, clock, random, onProblem, onRenewed });
  return {
    directory,
    credentials,
    /** Reads what is shared, and warns of what would not survive. Never throws: what can't be read is read later. */
    start: async (): Promise<void> => {
      await directory.read().catch(events.notRead);
      if (directory.oauthAccounts.length > 0 && grants instanceof MemoryGrantStore) events.tokensKeptInMemory();
    },
    /** Keeps to what is shared until the signal is aborted; `apply` is given what is configured each time. */
    follow: async (apply: Looking['apply']): Promise<void> => {
      while (!signal.aborted) {
        await look({ directory, credentials, events, apply });
        const waiting = AbortSignal.any([signal, AbortSignal.timeout(settings.pollMs)]);
        await once(problems, 'problem', { signal: waiting }).catch(() => undefined);
      }
    },
    /** Resolves when no refresh is running: an answer that is not stored would be lost. */
    settled: (): Promise<void> => refresher.settled(),
  };
}

interface Looking {
  readonly directory: AccountDirectory;
  readonly credentials: AccountCredentials;
  readonly events: CredentialEvents;
  /** Goes over to what is configured now, if that is something else than before. */
  readonly apply: (gateway: GatewayConfig) => Promise<void>;
}

/** Takes over the accounts of the database and their problems, and keeps access tokens fresh. */
async function look({ directory, credentials, events, apply }: Looking): Promise<void> {
  try {
    await directory.read();
    await apply(directory.gateway);
  } catch (thrown) {
    events.notRead(thrown);
  }
  const { accounts } = directory.gateway;
  credentials.retain(new Set(accounts.map(({ pool, name }) => `${pool}/${name}`)));
  // An account without requests keeps its tokens too: unused refresh tokens end, and one that pauses gets no request.
  const refreshed = accounts.filter(({ state, credential }) => credential.kind === 'oauth' && state !== 'disabled');
  await Promise.all(
    refreshed.map(({ pool, name, credential }) => credentials.keepFresh({ id: `${pool}/${name}`, pool, credential })),
  );
}
