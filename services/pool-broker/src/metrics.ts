import type { ServiceRuntime } from '@gateway/lifecycle';
import type { ProblemKind } from './accounts/attempt.ts';
import type { ConfigurationChange } from './configuration/active-configuration.ts';

export type BrokerMetrics = ReturnType<typeof brokerMetrics>;

/** What operators learn of the broker's work. Pools are named, accounts never. */
export function brokerMetrics({ logger, metrics }: ServiceRuntime) {
  const disabled = metrics.counter({
    name: 'gateway_pool_accounts_disabled_total',
    help: 'Accounts that their provider took out of service: credential_revoked, account_disabled. Each needs a person.',
    labels: ['pool', 'problem'],
  });
  return {
    acquires: metrics.counter({
      name: 'gateway_pool_acquires_total',
      help: 'Answers to Acquire: leased, exhausted (everything is limited), unavailable, unknown_model.',
      labels: ['result'],
    }),
    attempts: metrics.counter({
      name: 'gateway_pool_attempts_total',
      help: 'Attempts at providers that have ended, by pool and result.',
      labels: ['pool', 'result'],
    }),
    retriesRefused: metrics.counter({
      name: 'gateway_pool_retries_refused_total',
      help: 'Further attempts after errors that were not made: too many in one request, or over the retry budget.',
      labels: ['reason'],
    }),
    accountDisabled(pool: string, problem: ProblemKind): void {
      disabled.inc({ pool, problem });
      logger.error({ pool, problem }, 'a provider took an account out of service: see gatewayctl pool status');
    },
  };
}

/** What operators learn of a configuration that is read again. Pools and classes are named, accounts never. */
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
  // The configuration of the start is in use.
  lastSuccess.setToCurrentTime();
  isCurrent.set(1);
  return {
    applied({ pools, accounts, classes, newCredentials }: ConfigurationChange): void {
      reloads.inc({ result: 'applied' });
      lastSuccess.setToCurrentTime();
      isCurrent.set(1);
      const { added, removed, changed } = accounts;
      const counts = { added: added.length, removed: removed.length, changed: changed.length };
      const changes = { pools, classes, accounts: counts, newCredentials: newCredentials.length };
      logger.info({ path, ...changes }, 'gateway.yaml was read again and is in use');
    },
    refused(problems: readonly string[]): void {
      reloads.inc({ result: 'refused' });
      isCurrent.set(0);
      logger.error({ path, problems }, 'gateway.yaml was read again and can not be used: nothing has changed');
    },
  };
}
