import type { ServiceRuntime } from '@gateway/lifecycle';

/** How an attempt to get another access token ended. */
export type RefreshResult =
  | 'refreshed'
  /** Another replica had done it. */
  | 'shared'
  | 'failed'
  /** The provider does not take the refresh token any more. */
  | 'revoked';

/** What operators learn of credentials. Pools are named, accounts never: `gatewayctl account list` shows which. */
export interface CredentialEvents {
  refreshEnded(pool: string, result: RefreshResult, reason?: string): void;
  /** New tokens wait, since they could not be stored. */
  notPersisted(pool: string, thrown: unknown): void;
  /** The tokens that are stored of an account can't be decrypted. */
  unreadable(pool: string, thrown: unknown): void;
  /** Accounts in the database that are not used, by reason. */
  accountsRefused(counts: Readonly<Record<RefusalReason, number>>): void;
  /** Refresh tokens that take the place of the configured ones are lost with this process. */
  tokensKeptInMemory(): void;
  /** The shared state of credentials could not be read; the next try follows in seconds. */
  notRead(thrown: unknown): void;
}

export type RefusalReason = 'unknown_key' | 'damaged' | 'unknown_pool' | 'name_in_file';

export function credentialEvents({ logger, metrics }: ServiceRuntime): CredentialEvents {
  const refreshes = metrics.counter({
    name: 'gateway_account_token_refreshes_total',
    help: 'Attempts to get an access token with a refresh token: refreshed, shared (another replica had done it), failed, revoked.',
    labels: ['pool', 'result'],
  });
  const unsaved = metrics.counter({
    name: 'gateway_account_tokens_not_persisted_total',
    help: 'Times that new tokens could not be stored. They are not used before they are.',
    labels: ['pool'],
  });
  const refusals = metrics.counter({
    name: 'gateway_account_tokens_unreadable_total',
    help: 'Times that stored tokens could not be decrypted: their key is not here, they were changed, or they are of another account.',
    labels: ['pool'],
  });
  const notUsed = metrics.gauge({
    name: 'gateway_accounts_refused',
    help: 'Accounts in the database that are not used, by reason.',
    labels: ['reason'],
  });
  let nextUnreadableLogMs = 0;
  return {
    refreshEnded(pool, result, reason) {
      refreshes.inc({ pool, result });
      if (result === 'failed') logger.warn({ pool, reason }, 'an access token could not be refreshed');
      if (result === 'revoked') {
        logger.error({ pool, reason }, 'an account needs a person: see gatewayctl account list');
      }
    },
    notPersisted(pool, thrown) {
      unsaved.inc({ pool });
      logger.error({ pool, err: thrown }, 'new tokens could not be stored and are not used until they are');
    },
    unreadable(pool, thrown) {
      refusals.inc({ pool });
      if (performance.now() < nextUnreadableLogMs) return;
      nextUnreadableLogMs = performance.now() + unreadableLogMs;
      logger.error({ pool, err: thrown }, 'the stored tokens of an account can not be decrypted');
    },
    accountsRefused(counts) {
      for (const [reason, count] of Object.entries(counts)) notUsed.set({ reason }, count);
      if (Object.values(counts).some((count) => count > 0)) {
        logger.error({ counts }, 'accounts in the database are not used: see gatewayctl account list');
      }
    },
    tokensKeptInMemory: () => logger.warn(keptInMemory),
    notRead: (thrown) => logger.warn({ err: thrown }, 'the accounts in the database could not be read'),
  };
}

// What may happen with every request.
const unreadableLogMs = 60_000;

const keptInMemory =
  'refresh tokens that a provider gives in place of the configured ones are kept in this process only: after a restart, or in another replica, the provider may take the configured one for stolen and end the account. Set ACCOUNT_KEYS and DATABASE_URL';
