import type { ServiceRuntime } from '@gateway/lifecycle';
import type { BrokerEvents } from './selection/broker.ts';

export function brokerEvents({ logger, metrics }: ServiceRuntime): BrokerEvents {
  const acquires = metrics.counter({
    name: 'gateway_pool_acquires_total',
    help: 'Answers to Acquire: leased, exhausted (everything is limited), unavailable, unknown_model.',
    labels: ['result'],
  });
  const attempts = metrics.counter({
    name: 'gateway_pool_attempts_total',
    help: 'Attempts at providers that have ended, by pool and result.',
    labels: ['pool', 'result'],
  });
  const refusals = metrics.counter({
    name: 'gateway_pool_retries_refused_total',
    help: 'Further attempts after errors that were not made: too many in one request, or over the retry budget.',
    labels: ['reason'],
  });
  const disabled = metrics.counter({
    name: 'gateway_pool_accounts_disabled_total',
    help: 'Accounts that their provider took out of service: credential_revoked, account_disabled. Each needs a person.',
    labels: ['pool', 'problem'],
  });
  return {
    acquired: (result) => acquires.inc({ result }),
    attemptEnded: (pool, result) => attempts.inc({ pool, result }),
    retryRefused: (reason) => refusals.inc({ reason }),
    accountDisabled(pool, problem) {
      disabled.inc({ pool, problem });
      logger.error({ pool, problem }, 'a provider took an account out of service: see gatewayctl pool status');
    },
  };
}

/** Reports that model lists of other replicas could not be read; the next try follows in seconds. */
export function onRefreshFault({ logger }: ServiceRuntime): (thrown: unknown) => void {
  return (thrown) => logger.warn({ err: thrown }, 'what other replicas know of models could not be read');
}
