import { visibleLines } from '@gateway/presentation/visible-text';
import {
  type CheckConfigurationResponse,
  CheckConfigurationResponseSchema,
  ConfigurationService,
  type GetConfigurationResponse,
  GetConfigurationResponseSchema,
  type Setting,
} from '@gateway/proto/admin/v1/configuration_service_pb.js';
import { Command } from 'commander';
import { NotAsItShouldBe } from '../failures.ts';
import { type OutputFlags, print, printMessage, withOutput } from '../output/print.ts';
import { type Columns, colored, factSheet, Table } from '../output/table.ts';
import { timeText } from '../output/words.ts';
import type { CommandContext } from './context.ts';
import { readNamedFile } from './flags.ts';

/** `gatewayctl config …` */
export function configCommand({ connect }: CommandContext): Command {
  const config = new Command('config').description('Shows and checks the configuration.');
  withOutput(config.command('show'))
    .description('Shows all settings with their sources, and the gateway.yaml in use. Secrets appear only as "set".')
    .option('--file', 'print only the text of the gateway.yaml in use')
    .action(async ({ file, ...output }: OutputFlags & { readonly file?: true }) => {
      await using admin = await connect({ reads: true });
      const running = await admin.clientOf(ConfigurationService).getConfiguration({});
      const text = running.file?.text ?? '';
      if (file) print(process.stdout.isTTY ? visibleLines(text) : text);
      else await printMessage(output, GetConfigurationResponseSchema, running, configurationText);
    });
  withOutput(config.command('check'))
    .description(
      'Validates a gateway.yaml and shows what it would change. Does not verify that referenced environment variables are set. Admins only. Exits with status 1 if the file is invalid.',
    )
    .argument('<file>', 'path of the file, or - for standard input')
    .action(async (path: string, output: OutputFlags) => {
      const text = await readNamedFile(path, path === '-' ? '/dev/stdin' : path);
      await using admin = await connect({ reads: true });
      const checked = await admin.clientOf(ConfigurationService).checkConfiguration({ text });
      await printMessage(output, CheckConfigurationResponseSchema, checked, checkText);
      if (checked.problems.length > 0) throw new NotAsItShouldBe(`${path} is invalid.`);
    });
  return config;
}

function configurationText({ file, settings, silent }: GetConfigurationResponse): string {
  const head = factSheet({
    'gateway.yaml': file === undefined ? 'unknown' : file.path || 'none (built-in defaults apply)',
    'in use since': timeText(file?.loadedAtMs),
    problems: file?.problems.join(' ') ? { text: file.problems.join(' '), color: 'red' } : undefined,
    currency: file?.currency,
  });
  const table = settings.length === 0 ? '' : `\n${new Table(columns).linesOf(settings)}`;
  const unknown = silent.map((text) => colored(`Unknown: ${text}\n`, 'yellow')).join('');
  return `${head}${table}${unknown && `\n${unknown}`}`;
}

const columns: Columns<Setting> = {
  service: ({ service, address }) => (address === '' ? service : `${service} at ${address}`),
  setting: ({ name }) => name,
  value: ({ value }) => value,
  from: ({ origin }) => origin,
};

function checkText({ problems, changes, newReferences, modelsWithoutPrice }: CheckConfigurationResponse): string {
  if (problems.length > 0) return problems.map((problem) => `${colored('✗', 'red')} ${problem}\n`).join('');
  const lines = changes.length === 0 ? ['No changes.'] : changes.map((line) => colored(line, colorOf(line)));
  const unknown = newReferences.length === 0 ? '' : `Set these new references first: ${newReferences.join(', ')}\n`;
  const unpriced = modelsWithoutPrice.length === 0 ? '' : `Models without a price: ${modelsWithoutPrice.join(', ')}\n`;
  return `${colored('✓', 'green')} The file is valid.\n${unknown}${unpriced}${lines.map((line) => `${line}\n`).join('')}`;
}

function colorOf(change: string) {
  if (change.startsWith('+')) return 'green';
  return change.startsWith('-') ? 'red' : 'yellow';
}
