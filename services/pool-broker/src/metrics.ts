import type { ServiceRuntime } from '@gateway/lifecycle';
import type { ProblemKind } from './accounts/attempt.ts';

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
