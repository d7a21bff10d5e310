import type { ServiceRuntime } from '@gateway/lifecycle';
import type { ProblemKind } from './accounts/attempt.ts';
import type { ConfigurationChange } from './configuration/active-configuration.ts';

export type BrokerMetrics = ReturnType<typeof brokerMetrics>;

/**
 * Metrics and logs of the broker for operators. They name pools; accounts appear only in gauges,
 * which `showAccounts` sets.
 */
export function brokerMetrics({ logger, metrics }: ServiceRuntime) {
  const acquires = metrics.counter({
    name: 'gateway_pool_acquires_total',
    help: 'Answers to Acquire: leased, exhausted (everything is limited), unavailable, unknown_model.',
    labels: ['result'],
  });
  const exhausted = metrics.counter({
    name: 'gateway_pool_exhausted_total',
    help: 'Requests that no account could take because all were limited, by each pool that they could have gone to.',
    labels: ['pool'],
  });
  const retriesRefused = metrics.counter({
    name: 'gateway_pool_retries_refused_total',
    help: 'Further attempts after errors that were not made: too many in one request, or over the retry budget.',
    labels: ['reason'],
  });
  const disabled = metrics.counter({
    name: 'gateway_pool_accounts_disabled_total',
    help: 'Accounts that their provider took out of service: credential_revoked, account_disabled. Each needs a person.',
    labels: ['pool', 'problem'],
  });
  for (const result of ['leased', 'exhausted', 'unavailable', 'unknown_model']) acquires.inc({ result }, 0);
  for (const reason of ['attempts', 'budget']) retriesRefused.inc({ reason }, 0);
  return {
    ...{ acquires, exhausted, retriesRefused },
    attempts: metrics.counter({
      name: 'gateway_pool_attempts_total',
      help: 'Attempts at providers that have ended, by pool and result.',
      labels: ['pool', 'result'],
    }),
    /**
     * Initialises the counters of a pool: an alert detects the first event only if the counter was
     * zero before.
     */
    poolIsKnown(pool: string): void {
      exhausted.inc({ pool }, 0);
      for (const problem of ['credential_revoked', 'account_disabled']) disabled.inc({ pool, problem }, 0);
    },
    accountDisabled(pool: string, problem: ProblemKind): void {
      disabled.inc({ pool, problem });
      logger.error({ pool, problem }, 'account out of service: the provider disabled it; see gatewayctl pool status');
    },
  };
}

/** Metrics and logs of configuration reloads. They name pools and classes, never accounts. */
export function reloadMetrics({ logger, metrics }: ServiceRuntime, path: string) {
  const reloads = metrics.counter({
    name: 'gateway_configuration_reloads_total',
    help: 'Times gateway.yaml was read again: applied, or refused, which changes nothing.',
    labels: ['result'],
  });
  const lastSuccess = metrics.gauge({
    name: 'gateway_configuration_last_success_timestamp_seconds',
    help: 'When the configuration in use was taken over.',
  });
  const isCurrent = metrics.gauge({
    name: 'gateway_configuration_last_reload_successful',
    help: '1 when the configuration in use is what gateway.yaml says, 0 when the file was refused since.',
  });
  for (const result of ['applied', 'refused']) reloads.inc({ result }, 0);
  // The configuration from the start is in use.
  lastSuccess.setToCurrentTime();
  isCurrent.set(1);
  return {
    applied({ pools, accounts, classes, newCredentials }: ConfigurationChange): void {
      reloads.inc({ result: 'applied' });
      lastSuccess.setToCurrentTime();
      isCurrent.set(1);
      const { added, removed, changed } = accounts;
      const counts = { added: added.length, removed: removed.length, changed: changed.length };
      logger.info(
        { path, pools, classes, accounts: counts, new_credentials: newCredentials.length },
        'gateway.yaml reloaded',
      );
    },
    refused(problems: readonly string[]): void {
      reloads.inc({ result: 'refused' });
      isCurrent.set(0);
      logger.error({ path, problems }, 'gateway.yaml could not be reloaded: the previous configuration stays in use');
    },
  };
}

export type RefreshResult = 'refreshed' | 'shared' | 'failed' | 'revoked';

const refusalReasons = ['unknown_key', 'damaged', 'unknown_pool', 'name_in_file'] as const;
export type RefusalReason = (typeof refusalReasons)[number];

export type CredentialEvents = ReturnType<typeof credentialEvents>;

/**
 * Metrics and logs of credentials. They name pools, never accounts: `gatewayctl account list` shows
 * which are affected.
 */
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
  for (const reason of refusalReasons) notUsed.set({ reason }, 0);
  let nextUnreadableLogMs = 0;
  let lastRefused = '';
  return {
    /** As in `brokerMetrics`. */
    poolIsKnown(pool: string): void {
      for (const counter of [unsaved, refusals]) counter.inc({ pool }, 0);
    },
    refreshEnded(pool: string, result: RefreshResult, reason?: string): void {
      refreshes.inc({ pool, result });
      if (result === 'failed') logger.warn({ pool, reason }, 'an access token could not be refreshed');
      if (result === 'revoked') {
        logger.error(
          { pool, reason },
          'refresh token revoked: replace the credential of the account; see gatewayctl account list',
        );
      }
    },
    notPersisted(pool: string, thrown: unknown): void {
      unsaved.inc({ pool });
      logger.error({ pool, err: thrown }, 'refreshed tokens could not be stored; they are not used until then');
    },
    unreadable(pool: string, thrown: unknown): void {
      refusals.inc({ pool });
      if (performance.now() < nextUnreadableLogMs) return;
      // Logged at most once a minute, because it may happen with every request.
      nextUnreadableLogMs = performance.now() + 60_000;
      logger.error({ pool, err: thrown }, 'stored tokens of an account cannot be decrypted');
    },
    /** Called whenever the accounts were read; logs each change once. */
    accountsRefused(reasons: readonly RefusalReason[]): void {
      if (reasons.join() === lastRefused) return;
      lastRefused = reasons.join();
      const counts = { unknown_key: 0, damaged: 0, unknown_pool: 0, name_in_file: 0 };
      for (const reason of reasons) counts[reason]++;
      for (const reason of refusalReasons) notUsed.set({ reason }, counts[reason]);
      if (reasons.length > 0) {
        logger.error({ counts }, 'accounts in the database are ignored: see gatewayctl account list');
      }
    },
    tokensKeptInMemory: (): void => logger.warn(keptInMemory),
    notRead: (thrown: unknown): void => logger.warn({ err: thrown }, 'the accounts in the database could not be read'),
  };
}

const keptInMemory =
  'refresh tokens that a provider gives in place of the configured ones are kept in this process only: after a restart, or in another replica, the provider may take the configured one for stolen and end the account. Set ACCOUNT_KEYS and DATABASE_URL';
