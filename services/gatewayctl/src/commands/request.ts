import type { Environment } from '@gateway/config';
import { Command, InvalidArgumentError, Option } from 'commander';
import { openUsagePlane } from '../control-plane/usage-plane.ts';
import { processTerminal } from '../output/terminal.ts';
import { type ListFlags, listRequests, statusNames } from './request/list-requests.ts';
import { type ShowFlags, showRequest } from './request/show-request.ts';

/** `gatewayctl request …` */
export function requestCommand(env: Environment): Command {
  return new Command('request')
    .description('See why requests went where they went, as long as the request log has them.')
    .addCommand(show(env), { isDefault: true })
    .addCommand(list(env));
}

function show(env: Environment): Command {
  return new Command('show')
    .description(
      'What became of one request: accounts tried and passed over, why, outcome, times. "show" may be left out. When the request log does not have it, what the ledger has. Exits 1 when neither has it.',
    )
    .argument(
      '<id>',
      "the request's id, the x-request-id of its answer; or a text with it in it, such as the id of a chat completion",
    )
    .option('--json', 'as one JSON object')
    .action(async (id: string, flags: ShowFlags) => {
      await using plane = await openUsagePlane(env);
      if (!(await showRequest(plane.report, id, flags, processTerminal()))) process.exitCode = 1;
    });
}

function list(env: Environment): Command {
  return new Command('list')
    .description('The latest requests, newest first.')
    .option('--token <id>', "only this token's")
    .option('--model <id>', 'only those that asked for it, or that were sent to a provider as it')
    .addOption(new Option('--status <status>', 'only those that ended so').choices([...statusNames]))
    .option('--last <number>', 'how many at most', upToAThousand, 20)
    .option('--json', 'as JSON, one request a line')
    .action(async (flags: ListFlags) => {
      await using plane = await openUsagePlane(env);
      await listRequests(plane.report, flags, processTerminal());
    });
}

function upToAThousand(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= 1_000) return value;
  throw new InvalidArgumentError('It must be a whole number from 1 to 1000.');
}
