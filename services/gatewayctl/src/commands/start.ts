import type { Environment } from '@gateway/config';
import { Command } from 'commander';

/** `gatewayctl start` */
export function startCommand(env: Environment): Command {
  return new Command('start')
    .description('Run the whole gateway in this process. Settings come from the environment and gateway.yaml.')
    .action(async () => {
      const { runAllInOne } = await import('@gateway/all-in-one/run');
      await runAllInOne(env);
    });
}
