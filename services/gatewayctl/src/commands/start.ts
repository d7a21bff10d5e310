import type { Environment } from '@gateway/config';
import { Command } from 'commander';

/** `gatewayctl start` */
export function startCommand(env: Environment): Command {
  return new Command('start')
    .description(
      'Run the whole gateway, in this process or on all cores. Settings come from the environment and gateway.yaml.',
    )
    .option('--workers <number>', 'processes that serve, or auto: one for each core (default: GATEWAY_WORKERS, or 1)')
    .action(async ({ workers }: { readonly workers?: string }) => {
      const { runAllInOne } = await import('@gateway/all-in-one/run');
      await runAllInOne(workers === undefined ? env : { ...env, GATEWAY_WORKERS: workers });
    });
}
