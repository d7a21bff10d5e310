import type { GatewayConfig } from '@gateway/config';
import type { ChangeSignal } from '../catalog/change-signal.ts';
import type { AccountCredentials } from './account-credentials.ts';
import type { AccountDirectory } from './account-directory.ts';
import type { CredentialEvents } from './credential-events.ts';

export interface FollowAccountsOptions {
  readonly directory: AccountDirectory;
  readonly credentials: AccountCredentials;
  /** Notified when there is reason to look at once. */
  readonly hurry: ChangeSignal;
  readonly events: CredentialEvents;
  /** Goes over to what is configured now, if that is something else than before. */
  readonly apply: (gateway: GatewayConfig) => Promise<void>;
  /** How long an account that was added, changed or removed is not noticed. */
  readonly pollMs: number;
  readonly signal: AbortSignal;
}

/** Keeps to the accounts of the database and their problems, and access tokens fresh, until the signal is aborted. */
export async function followAccounts(options: FollowAccountsOptions): Promise<void> {
  const { hurry, pollMs, signal } = options;
  while (!signal.aborted) {
    await look(options);
    using _timer = afterMs(pollMs, () => hurry.notify());
    await hurry.next(signal);
  }
}

async function look({ directory, credentials, events, apply }: FollowAccountsOptions): Promise<void> {
  try {
    await directory.read();
    await apply(directory.gateway);
  } catch (thrown) {
    events.notRead(thrown);
  }
  const accounts = directory.gateway.accounts.map(({ pool, name, state, credential }) => {
    return { id: `${pool}/${name}`, pool, state, credential };
  });
  credentials.retain(new Set(accounts.map(({ id }) => id)));
  // An account that nobody asks for keeps its tokens too: unused refresh tokens end, and one that pauses is asked for nothing.
  const refreshed = accounts.filter(({ state, credential }) => credential.kind === 'oauth' && state !== 'disabled');
  await Promise.all(refreshed.map((account) => credentials.keepFresh(account)));
}

function afterMs(delayMs: number, callback: () => void): Disposable {
  const timer = setTimeout(callback, delayMs);
  timer.unref();
  return {
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}
