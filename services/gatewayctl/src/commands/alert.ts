import {
  type Alert,
  AlertSchema,
  AlertService,
  AlertState,
  TestAlertResponseSchema,
} from '@gateway/proto/admin/v1/alert_service_pb.js';
import { Command } from 'commander';
import { NotAsItShouldBe } from '../failures.ts';
import { type OutputFlags, printList, printMessage, withOutput } from '../output/print.ts';
import type { Cell, Columns } from '../output/table.ts';
import { enumWord, timeText } from '../output/words.ts';
import type { CommandContext } from './context.ts';
import { wholeNumber } from './flags.ts';

/** `gatewayctl alert …` */
export function alertCommand({ connect }: CommandContext): Command {
  const alert = new Command('alert').description('Shows warnings that were sent to receivers, and tests receivers.');
  withOutput(alert.command('list'))
    .description('Lists warnings with what the receivers answered, newest first.')
    .option('--last <number>', 'maximum number of rows', wholeNumber(1, 1_000), 50)
    .action(async ({ last, ...output }: OutputFlags & { readonly last: number }) => {
      await using admin = await connect({ reads: true });
      const { alerts } = await admin.clientOf(AlertService).listAlerts({ last });
      await printList(output, AlertSchema, [alerts], { columns, whenNone: 'No warnings yet.' });
    });
  withOutput(alert.command('test'))
    .description('Sends a test message to a receiver of gateway.yaml. Admins only. Exits with status 1 if it failed.')
    .argument('<receiver>', 'its name')
    .action(async (receiver: string, output: OutputFlags) => {
      await using admin = await connect();
      const answer = await admin.clientOf(AlertService).testAlert({ receiver });
      const text = `${receiver} answered ${answer.alert?.answer}\n`;
      await printMessage(output, TestAlertResponseSchema, answer, () => text);
      if (answer.alert?.state !== AlertState.SENT) throw new NotAsItShouldBe('The test message was not accepted.');
    });
  return alert;
}

const columns: Columns<Alert> = {
  at: ({ atMs }) => timeText(atMs),
  receiver: ({ receiver }) => receiver,
  state: ({ state }): Cell => ({ text: enumWord(AlertState, state), color: colors[state] }),
  answer: ({ answer }) => answer,
  attempts: ({ attempts }) => attempts,
  warning: ({ text }) => text,
};

const colors = {
  [AlertState.UNSPECIFIED]: undefined,
  [AlertState.WAITING]: 'yellow',
  [AlertState.SENT]: 'green',
  [AlertState.FAILED]: 'red',
} as const;
