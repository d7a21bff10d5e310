import { figureText } from '@gateway/presentation/figure-text';
import {
  type Attention,
  type ListReplicasResponse,
  ListReplicasResponseSchema,
  type Overview,
  OverviewSchema,
  type Replica,
  Severity,
  SystemService,
} from '@gateway/proto/admin/v1/system_service_pb.js';
import { epochMs } from '@gateway/time';
import { Command } from 'commander';
import { endless } from '../connection/deadlines.ts';
import { type OutputFlags, printMessage, printOverviews, withOutput } from '../output/print.ts';
import { type Cell, type Columns, colored, factSheet, Table } from '../output/table.ts';
import { bytesText, durationText, percent } from '../output/words.ts';
import type { CommandContext } from './context.ts';

/** `gatewayctl system …` */
export function systemCommand({ connect }: CommandContext): Command {
  const system = new Command('system').description('Shows the health of the gateway.');
  withOutput(system.command('status'))
    .description('Shows what needs attention, current traffic, and replicas.')
    .option('--watch', 'refresh every two seconds')
    .action(async ({ watch, ...output }: OutputFlags & { readonly watch?: true }) => {
      await using admin = await connect({ running: true });
      const client = admin.clientOf(SystemService);
      if (watch) {
        return await printOverviews(output, OverviewSchema, client.watchOverview({}, endless), async (overview) =>
          statusText(overview, await client.listReplicas({})),
        );
      }
      const replicas = await client.listReplicas({});
      const { overview } = await client.getOverview({});
      await printMessage(output, OverviewSchema, overview, (known) => statusText(known, replicas));
    });
  withOutput(system.command('replicas'))
    .description('Lists every process of the gateway with its version, memory, CPU and details.')
    .action(async (output: OutputFlags) => {
      await using admin = await connect({ running: true });
      const listed = await admin.clientOf(SystemService).listReplicas({});
      await printMessage(output, ListReplicasResponseSchema, listed, replicasText);
    });
  return system;
}

function statusText({ points, attention }: Overview, replicas: ListReplicasResponse): string {
  const now = points.at(-1);
  const facts = factSheet({
    requests: rate(now?.requestsPerSecond),
    'server errors': rate(now?.errorsPerSecond),
    'errors by code': `${rate(now?.refusalsPerSecond)}${byName(now?.refusalsPerMinuteByCode)}`,
    'first token': `p50 ${seconds(now?.firstTokenP50Seconds)}, p95 ${seconds(now?.firstTokenP95Seconds)}`,
    tokens: `${Math.round(sum(now?.tokensPerMinuteByModel))}/min${byName(now?.tokensPerMinuteByModel)}`,
    'open streams': now?.openStreams ?? 0,
  });
  const needs = attention.map(attentionLine).join('') || colored('All clear.\n', 'green');
  return `${needs}\n${facts}\n${new Table({ ...columns, details: { of: detailsText, spare: true } }).linesOf(replicas.replicas)}`;
}

function attentionLine({ severity, text }: Attention): string {
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

function replicasText({ replicas }: ListReplicasResponse): string {
  return new Table({ ...columns, details: detailsText }).linesOf(replicas);
}

const columns: Columns<Replica> = {
  service: ({ service }) => service,
  address: ({ address }) => address,
  state: ({ ready, problem }): Cell => (ready ? { text: 'ready', color: 'green' } : { text: problem, color: 'red' }),
  version: ({ version }) => version,
  up: ({ startedAtMs }) => (startedAtMs === undefined ? '' : durationText(epochMs() - startedAtMs)),
  memory: ({ residentBytes }) => bytesText(residentBytes),
  cpu: ({ cpuShare }) => percent(cpuShare),
};

function detailsText({ figures }: Replica): string {
  const named = Object.entries(figures).filter(([, value]) => value !== 0);
  const texts = named.map(([name, value]) => figureText(name, value));
  return texts.map(({ name, text }) => `${name} ${text}`).join(', ');
}
