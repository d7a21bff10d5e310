import type { ServiceRuntime } from '@gateway/lifecycle';
import { AccountProblem } from '@gateway/proto/pool/v1/account_pb.js';
import { monotonicMs } from '@gateway/time';
import { type AttemptReport, problems } from './accounts/attempt.ts';
import type { ConfigurationChange } from './configuration/active-configuration.ts';

export type BrokerMetrics = ReturnType<typeof brokerMetrics>;

/**
 * Metrics and logs of the broker for operators. They name pools; accounts appear only in gauges,
 * which `showAccounts` sets, and in the warning about a refused key.
 */
export function brokerMetrics({ logger, metrics }: ServiceRuntime) {
  const acquires = metrics.counter({
    name: 'gateway_pool_acquires_total',
    help: 'Results of Acquire: leased, exhausted (all accounts are rate limited), unavailable, unknown_model.',
    labels: ['result'],
  });
  const exhausted = metrics.counter({
    name: 'gateway_pool_exhausted_total',
    help: 'Requests without an account because all were rate limited, for each pool that could have served them.',
    labels: ['pool'],
  });
  const retriesRefused = metrics.counter({
    name: 'gateway_pool_retries_refused_total',
    help: 'Retries that were not made: the request had too many, or a retry budget was spent.',
    labels: ['reason'],
  });
  const disabled = metrics.counter({
    name: 'gateway_pool_accounts_disabled_total',
    help: 'Accounts taken out of service after a report of their provider: credential_revoked, account_disabled. Each needs an operator.',
    labels: ['pool', 'problem'],
  });
  for (const result of ['leased', 'exhausted', 'unavailable', 'unknown_model']) acquires.inc({ result }, 0);
  for (const reason of ['attempts', 'budget', 'refusals']) retriesRefused.inc({ reason }, 0);
  return {
    ...{ acquires, exhausted, retriesRefused },
    attempts: metrics.counter({
      name: 'gateway_pool_attempts_total',
      help: 'Ended attempts at providers, by pool and result.',
      labels: ['pool', 'result'],
    }),
    /**
     * Initialises the counters of a pool: an alert detects the first event only if the counter was
     * zero before.
     */
    poolIsKnown(pool: string): void {
      exhausted.inc({ pool }, 0);
      for (const problem of problems) disabled.inc({ pool, problem: problemName(problem) }, 0);
    },
    accountDisabled(pool: string, kind: AccountProblem): void {
      const problem = problemName(kind);
      disabled.inc({ pool, problem });
      logger.error({ pool, problem }, 'account out of service: the provider disabled it; see gatewayctl pool status');
    },
    accountRefused(account: string, { upstreamStatus, cause }: AttemptReport): void {
      const status = upstreamStatus || undefined;
      if (cause === '') logger.warn({ account, status }, refusedKey);
      else logger.warn({ account, status, cause }, 'the provider refuses the account, which pauses');
    },
  };
}

function problemName(problem: AccountProblem): string {
  return AccountProblem[problem].toLowerCase();
}

const refusedKey =
  'the provider refuses the key of the account, which pauses. Replace it: docs/operate/accounts.md#replace-a-key';

/** Metrics and logs of configuration reloads. They name pools and classes, never accounts. */
export function reloadMetrics({ logger, metrics }: ServiceRuntime, path: string) {
  const reloads = metrics.counter({
    name: 'gateway_configuration_reloads_total',
    help: 'Reloads of gateway.yaml: applied or refused. A refused file changes nothing.',
    labels: ['result'],
  });
  const lastSuccess = metrics.gauge({
    name: 'gateway_configuration_last_success_timestamp_seconds',
    help: 'When the configuration in use was loaded.',
  });
  const isCurrent = metrics.gauge({
    name: 'gateway_configuration_last_reload_successful',
    help: '1 if the configuration in use matches gateway.yaml, 0 if the changed file was refused.',
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
    help: 'Refreshes of access tokens: refreshed, shared (done by another replica), failed, revoked.',
    labels: ['pool', 'result'],
  });
  const unsaved = metrics.counter({
    name: 'gateway_account_tokens_not_persisted_total',
    help: 'Failures to store new tokens. The gateway does not use them before they are stored.',
    labels: ['pool'],
  });
  const refusals = metrics.counter({
    name: 'gateway_account_tokens_unreadable_total',
    help: 'Stored tokens that could not be decrypted: the key is missing, or they were changed or belong to another account.',
    labels: ['pool'],
  });
  const notUsed = metrics.gauge({
    name: 'gateway_accounts_refused',
    help: 'Unused accounts in the database, by reason.',
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
      if (monotonicMs() < nextUnreadableLogMs) return;
      // Logged at most once a minute, because it may happen with every request.
      nextUnreadableLogMs = monotonicMs() + 60_000;
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
  'new refresh tokens from a provider are in the memory of this process only: after a restart, or in another replica, the provider may treat the configured token as stolen and disable the account. Set ACCOUNT_KEYS and DATABASE_URL';
