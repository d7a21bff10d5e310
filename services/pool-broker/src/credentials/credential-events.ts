import type { ServiceRuntime } from '@gateway/lifecycle';

export type RefreshResult = 'refreshed' | 'shared' | 'failed' | 'revoked';

export type RefusalReason = 'unknown_key' | 'damaged' | 'unknown_pool' | 'name_in_file';

export type CredentialEvents = ReturnType<typeof credentialEvents>;

/** What operators learn of credentials. Pools are named, accounts never: `gatewayctl account list` shows which. */
export function credentialEvents({ logger, metrics }: ServiceRuntime) {
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
  let lastRefused = '';
  return {
    refreshEnded(pool: string, result: RefreshResult, reason?: string): void {
      refreshes.inc({ pool, result });
      if (result === 'failed') logger.warn({ pool, reason }, 'an access token could not be refreshed');
      if (result === 'revoked') {
        logger.error({ pool, reason }, 'an account needs a person: see gatewayctl account list');
      }
    },
    notPersisted(pool: string, thrown: unknown): void {
      unsaved.inc({ pool });
      logger.error({ pool, err: thrown }, 'new tokens could not be stored and are not used until they are');
    },
    unreadable(pool: string, thrown: unknown): void {
      refusals.inc({ pool });
      if (performance.now() < nextUnreadableLogMs) return;
      // It may happen with every request.
      nextUnreadableLogMs = performance.now() + 60_000;
      logger.error({ pool, err: thrown }, 'the stored tokens of an account can not be decrypted');
    },
    /** Called whenever the accounts were read; logs once for each change. */
    accountsRefused(reasons: readonly RefusalReason[]): void {
      if (reasons.join() === lastRefused) return;
      lastRefused = reasons.join();
      const counts = { unknown_key: 0, damaged: 0, unknown_pool: 0, name_in_file: 0 };
      for (const reason of reasons) counts[reason]++;
      for (const [reason, count] of Object.entries(counts)) notUsed.set({ reason }, count);
      if (reasons.length > 0) {
        logger.error({ counts }, 'accounts in the database are not used: see gatewayctl account list');
      }
    },
    tokensKeptInMemory: (): void => logger.warn(keptInMemory),
    notRead: (thrown: unknown): void => logger.warn({ err: thrown }, 'the accounts in the database could not be read'),
  };
}

const keptInMemory =
  'refresh tokens that a provider gives in place of the configured ones are kept in this process only: after a restart, or in another replica, the provider may take the configured one for stolen and end the account. Set ACCOUNT_KEYS and DATABASE_URL';
