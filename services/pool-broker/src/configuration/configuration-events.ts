import type { ServiceRuntime } from '@gateway/lifecycle';
import type { ConfigurationChange, Difference } from './configuration-change.ts';

export type ConfigurationEvents = ReturnType<typeof configurationEvents>;

/** What operators learn of a configuration that is read again. Pools and classes are named, accounts never. */
export function configurationEvents({ logger, metrics }: ServiceRuntime, path: string) {
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
      const changes = { pools, classes, accounts: countsOf(accounts), newCredentials: newCredentials.length };
      logger.info({ path, ...changes }, 'gateway.yaml was read again and is in use');
    },
    refused(problems: readonly string[]): void {
      reloads.inc({ result: 'refused' });
      isCurrent.set(0);
      logger.error({ path, problems }, 'gateway.yaml was read again and can not be used: nothing has changed');
    },
    pausesKept(thrown: unknown): void {
      const text = 'accounts that were refused with other credentials pause as long as they would have with those';
      logger.warn({ err: thrown }, text);
    },
  };
}

function countsOf({ added, removed, changed }: Difference) {
  return { added: added.length, removed: removed.length, changed: changed.length };
}
