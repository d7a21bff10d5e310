import { timestampMs } from '@bufbuild/protobuf/wkt';
import type { Client } from '@connectrpc/connect';
import {
  type Attention,
  ListReplicasResponseSchema,
  type Overview,
  OverviewSchema,
  type Replica,
  Severity,
  SystemService,
} from '@gateway/proto/admin/v1/system_service_pb.js';
import { Command } from 'commander';
import { endless } from '../connection/admin-connection.ts';
import { type OutputFlags, printMessage, printStates, withOutput } from '../output/print.ts';
import { type Cell, type Columns, colored, factSheet, Table } from '../output/table.ts';
import { bytesText, durationText, percent } from '../output/words.ts';
import type { CommandContext } from './context.ts';

/** `gatewayctl system …` */
export function systemCommand({ connect }: CommandContext): Command {
  const system = new Command('system').description('How the gateway is doing.');
  withOutput(system.command('status'))
    .description('What needs a person now, what goes through the gateway, and its replicas.')
    .option('--watch', 'again every two seconds')
    .action(async ({ watch, ...output }: OutputFlags & { readonly watch?: true }) => {
      await using admin = await connect({ running: true });
      const client = admin.clientOf(SystemService);
      let replicas = (await client.listReplicas({})).replicas;
      const textOf = (overview: Overview) => `${overviewText(overview)}\n${replicasText(replicas)}`;
      if (watch) {
        const readReplicas = async () => {
          replicas = (await client.listReplicas({})).replicas;
        };
        return await printStates(output, OverviewSchema, { states: overviewsOf(client, readReplicas), textOf });
      }
      const { overview } = await client.getOverview({});
      printMessage(output, OverviewSchema, overview, textOf);
    });
  withOutput(system.command('replicas'))
    .description('Every process of the gateway with its version, memory, processor time and figures of its own.')
    .action(async (output: OutputFlags) => {
      await using admin = await connect({ running: true });
      const listed = await admin.clientOf(SystemService).listReplicas({});
      printMessage(output, ListReplicasResponseSchema, listed, ({ replicas }) => replicasText(replicas));
    });
  return system;
}

async function* overviewsOf(client: Client<typeof SystemService>, before: () => Promise<void>) {
  for await (const { overview } of client.watchOverview({}, endless)) {
    await before();
    yield overview;
  }
}

function overviewText({ points, attention }: Overview): string {
  const now = points.at(-1);
  const facts = factSheet({
    requests: rate(now?.requestsPerSecond),
    errors: rate(now?.errorsPerSecond),
    refusals: `${rate(now?.refusalsPerSecond)}${byName(now?.refusalsPerMinuteByCode)}`,
    'first token': `p50 ${seconds(now?.firstTokenP50Seconds)}, p95 ${seconds(now?.firstTokenP95Seconds)}`,
    tokens: `${Math.round(sum(now?.tokensPerMinuteByModel))}/min${byName(now?.tokensPerMinuteByModel)}`,
    'open streams': Number(now?.openStreams ?? 0n),
  });
  return `${attention.length === 0 ? colored('Nothing needs a person.\n', 'green') : attention.map(attentionLine).join('')}\n${facts}`;
}

export function attentionLine({ severity, text }: Attention): string {
  const isUrgent = severity === Severity.CRITICAL;
  return `${colored(isUrgent ? '✗ now ' : '! soon', isUrgent ? 'red' : 'yellow')}  ${text}\n`;
}

function rate(perSecond = 0): string {
  return `${perSecond.toFixed(1)}/s`;
}

function seconds(value: number | undefined): string {
  return value === undefined ? '–' : durationText(value * 1_000);
}

function sum(values: Readonly<Record<string, number>> = {}): number {
  return Object.values(values).reduce((total, value) => total + value, 0);
}

/** " (gpt-5.5 1200/min, …)", the largest first. */
function byName(values: Readonly<Record<string, number>> = {}): string {
  const named = Object.entries(values).toSorted(([, one], [, other]) => other - one);
  return named.length === 0 ? '' : ` (${named.map(([name, value]) => `${name} ${Math.round(value)}/min`).join(', ')})`;
}

function replicasText(replicas: readonly Replica[]): string {
  return new Table(columns).linesOf(replicas);
}

const columns: Columns<Replica> = {
  service: ({ service }) => service,
  address: ({ address }) => address,
  state: ({ ready, problem }): Cell => (ready ? { text: 'ready', color: 'green' } : { text: problem, color: 'red' }),
  version: ({ version }) => version,
  up: ({ startedAt }) => (startedAt === undefined ? '' : durationText(Date.now() - timestampMs(startedAt))),
  memory: ({ residentBytes }) => bytesText(Number(residentBytes)),
  cpu: ({ cpuShare }) => percent(cpuShare),
  figures: {
    of: ({ figures }) => {
      const named = Object.entries(figures).filter(([, value]) => value !== 0);
      return named.map(([name, value]) => `${name} ${Number(value.toFixed(3))}`).join(', ');
    },
    spare: true,
  },
};
