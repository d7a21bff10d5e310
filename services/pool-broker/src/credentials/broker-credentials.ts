import type { GatewayConfig } from '@gateway/config';
import type { ServiceRuntime } from '@gateway/lifecycle';
import type { Clock } from '@gateway/time';
import { ChangeSignal } from '../catalog/change-signal.ts';
import { AccountCredentials } from './account-credentials.ts';
import { AccountDirectory } from './account-directory.ts';
import { credentialEvents } from './credential-events.ts';
import type { CredentialStorage } from './credential-storage.ts';
import { followAccounts } from './follow-accounts.ts';
import { requestTokens } from './oauth/token-endpoint.ts';
import { TokenRefresher } from './oauth/token-refresher.ts';

/** Everything of a broker that has to do with credentials. */
export interface BrokerCredentials {
  readonly directory: AccountDirectory;
  readonly credentials: AccountCredentials;
  /** Reads what is shared, and warns of what would not survive. Never throws: what can't be read is read later. */
  start(): Promise<void>;
  /** Keeps to what is shared until the signal is aborted; `apply` is given what is configured each time. */
  follow(apply: (gateway: GatewayConfig) => Promise<void>): Promise<void>;
  /** Resolves when no refresh is under way: an answer that is not stored would be lost. */
  settled(): Promise<void>;
}

export interface BrokerCredentialsOptions {
  readonly clock: Clock;
  readonly random: () => number;
  /** See `AccountCredentialsParts.onRenewed`. */
  readonly onRenewed: (accountId: string, issuedAtMs: number) => void;
  /** Aborted when the broker stops. */
  readonly signal: AbortSignal;
}

export function brokerCredentials(
  gateway: GatewayConfig,
  storage: CredentialStorage,
  runtime: ServiceRuntime,
  { clock, random, onRenewed, signal }: BrokerCredentialsOptions,
): BrokerCredentials {
  const { table, grants, lock, grantSealer, accountSealer, settings } = storage;
  const events = credentialEvents(runtime);
  const hurry = new ChangeSignal();
  const onRefused = events.accountsRefused;
  const directory = new AccountDirectory(gateway, { table, grants, sealer: accountSealer, onRefused });
  const { requestTimeoutMs } = settings;
  const parts = { store: grants, lock, sealer: grantSealer, endpoint: requestTokens, requestTimeoutMs };
  const refresher = new TokenRefresher({ ...parts, clock, random, events, signal });
  const credentials = new AccountCredentials({
    refresher,
    settings,
    clock,
    random,
    onProblem: () => hurry.notify(),
    onRenewed,
  });
  return {
    directory,
    credentials,
    start: async () => {
      await directory.read().catch(events.notRead);
      if (directory.oauthAccounts.length > 0) events.tokensKeptIn(storage.grantsIn);
    },
    follow: (apply) =>
      followAccounts({ directory, credentials, hurry, events, apply, signal, pollMs: settings.pollMs }),
    settled: () => refresher.settled(),
  };
}
