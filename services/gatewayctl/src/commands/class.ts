import { type ModelClass, ModelClassSchema, PoolService } from '@gateway/proto/admin/v1/pool_service_pb.js';
import { Command } from 'commander';
import { type OutputFlags, printList, withOutput } from '../output/print.ts';
import type { Columns } from '../output/table.ts';
import type { CommandContext } from './context.ts';

/** `gatewayctl class …` */
export function classCommand({ connect }: CommandContext): Command {
  const command = new Command('class').description('Shows the model classes that clients can use.');
  withOutput(command.command('list'))
    .description(
      'Lists model classes with their models, in order of preference. A gateway.yaml defines classes; without one, built-in classes apply.',
    )
    .action(async (output: OutputFlags) => {
      await using admin = await connect({ reads: true });
      const { overview } = await admin.clientOf(PoolService).listPools({});
      const whenNone = 'No classes. Define them in gateway.yaml.';
      await printList(output, ModelClassSchema, [overview?.classes ?? []], { columns, whenNone });
    });
  return command;
}

const columns: Columns<ModelClass> = {
  id: ({ id }) => id,
  name: ({ name }) => name,
  effort: ({ effort }) => effort,
  candidates: ({ candidates }) => candidates.join(', '),
};
