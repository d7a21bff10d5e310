import type { Environment } from '@gateway/config';
import { Command, InvalidArgumentError, Option } from 'commander';
import { openEdges } from '../control-plane/edges.ts';
import { openUsagePlane } from '../control-plane/usage-plane.ts';
import { processTerminal } from '../output/terminal.ts';
import { type ListFlags, listRequests, statusNames } from './request/list-requests.ts';
import { type ShowFlags, showRequest } from './request/show-request.ts';

interface EdgeFlags {
  readonly edge: readonly string[];
}

/** `gatewayctl request …` */
export function requestCommand(env: Environment): Command {
  return new Command('request')
    .description('See why requests went where they went, as long as their edge remembers them.')
    .addCommand(show(env), { isDefault: true })
    .addCommand(list(env));
}

function show(env: Environment): Command {
  return withEdges(new Command('show'))
    .description(
      'The story of one request: accounts tried and passed over, why, outcome, times. "show" may be left out. When no edge knows it, what the ledger has; a stand-alone usage-query at GATEWAY_ADMIN_URL is asked for that. Exits 1 when nobody knows it.',
    )
    .argument(
      '<id>',
      "the request's id, the x-request-id of its answer; or a text with it in it, such as the id of a chat completion",
    )
    .option('--json', 'as one JSON object')
    .action(async (id: string, flags: ShowFlags & EdgeFlags) => {
      const edges = await openEdges(env, flags.edge);
      const sources = { edges, openLedger: () => openUsagePlane(env) };
      if (!(await showRequest(sources, id, flags, processTerminal()))) process.exitCode = 1;
    });
}

function list(env: Environment): Command {
  return withEdges(new Command('list'))
    .description('The latest requests, newest first.')
    .option('--token <id>', "only this token's")
    .option('--model <id>', 'only those that asked for it, or that were sent to a provider as it')
    .addOption(new Option('--status <status>', 'only those that ended, or are, so').choices([...statusNames]))
    .option('--last <number>', 'how many at most', upToAThousand, 20)
    .option('--json', 'as JSON, one request a line')
    .action(async (flags: ListFlags & EdgeFlags) => {
      await listRequests(await openEdges(env, flags.edge), flags, processTerminal());
    });
}

function withEdges(command: Command): Command {
  const text =
    'admin address of an edge; again for each further one. Else those of GATEWAY_EDGE_URLS, else the running gateway';
  return command.option('--edge <url>', text, (url: string, urls: readonly string[]) => [...urls, url], []);
}

function upToAThousand(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= 1_000) return value;
  throw new InvalidArgumentError('It must be a whole number from 1 to 1000.');
}
