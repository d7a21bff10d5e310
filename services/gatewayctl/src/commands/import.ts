import { writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { epochMs } from '@gateway/time';
import { Command } from 'commander';
import { NotAsItShouldBe, UsageError } from '../failures.ts';
import type { LitellmImport } from '../litellm/import-litellm.ts';
import type { TokenImport } from '../litellm/import-tokens.ts';
import { formatOf } from '../output/document-format.ts';
import { note, type OutputFlags, print, withOutput } from '../output/print.ts';
import { readNamedFile } from './flags.ts';

interface ImportFlags extends OutputFlags {
  readonly out: string;
  readonly dryRun?: true;
  readonly force?: true;
  readonly keys?: string;
  readonly teams?: string;
  readonly commands: string;
}

/** `gatewayctl import …` */
export function importCommand(): Command {
  const command = new Command('import').description('Translates the configuration of another gateway.');
  withOutput(command.command('litellm'))
    .description(
      'Writes a gateway.yaml from the configuration of a LiteLLM proxy, and prints what was left out and why. Executes nothing, and reads no other file. Keys become references to environment variables, and are never printed. Exits with status 1 if no model can be taken.',
    )
    .argument('<config.yaml>', 'path of the file, or - for standard input')
    .option(
      '--out <file>',
      'file to write, or - for standard output; the list is then on standard error',
      'gateway.yaml',
    )
    .option(
      '--keys <file>',
      "answer of LiteLLM's GET /key/list?return_full_object=true, for commands that issue tokens",
    )
    .option('--teams <file>', "answer of LiteLLM's GET /team/list, for commands that create groups")
    .option('--commands <file>', 'file for these commands', 'litellm-tokens.sh')
    .option('--force', 'overwrite files')
    .option('--dry-run', 'print the list, and write nothing')
    .action(async (path: string, flags: ImportFlags) => {
      const { importLitellm } = await import('../litellm/import-litellm.ts');
      const { text, name } = await fileOf(path);
      const imported = importLitellm(text, name);
      const tokens = await tokensOf(flags, imported);
      await writeAll(flags, imported, tokens);
      if (imported.text === undefined) throw new NotAsItShouldBe(`no model of ${path} can be taken.`);
    });
  return command;
}

async function fileOf(path: string) {
  if (path === '-') return { name: 'standard input', text: await readNamedFile(path, '/dev/stdin') };
  return { name: basename(path), text: await readNamedFile(path) };
}

async function tokensOf({ keys, teams }: ImportFlags, { modelNames }: LitellmImport): Promise<TokenImport | undefined> {
  if (keys === undefined && teams === undefined) return undefined;
  const { importTokens } = await import('../litellm/import-tokens.ts');
  const exported = {
    keys: keys === undefined ? undefined : await fileOf(keys),
    teams: teams === undefined ? undefined : await fileOf(teams),
  };
  return importTokens(exported, modelNames, epochMs());
}

/** Writes the files, and prints the list. */
async function writeAll(
  { out, dryRun, force, commands, output }: ImportFlags,
  imported: LitellmImport,
  tokens: TokenImport | undefined,
): Promise<void> {
  const files = [
    ...(imported.text === undefined ? [] : [{ path: out, text: imported.text }]),
    ...(tokens === undefined ? [] : [{ path: commands, text: tokens.script }]),
  ];
  const written = dryRun || imported.text === undefined ? [] : files;
  for (const { path, text } of written) if (path !== '-') await writeNew(path, text, force);
  const report = await reportOf(imported, tokens, output);
  const printed = written.filter(({ path }) => path === '-');
  for (const { text } of printed) print(text);
  if (printed.length === 0) print(report);
  else note(report.trimEnd());
  const paths = written.flatMap(({ path }) => (path === '-' ? [] : [path]));
  note(paths.length === 0 ? 'no file was written' : `wrote ${paths.join(' and ')}`);
}

async function writeNew(path: string, text: string, force: true | undefined): Promise<void> {
  try {
    await writeFile(path, text, { flag: force ? 'w' : 'wx' });
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined;
    if (code === 'EEXIST') throw new UsageError(`${path} exists. Name another file, or use --force.`);
    throw code === undefined ? thrown : new Error(`${path} can't be written (${String(code)}).`);
  }
}

async function reportOf(
  imported: LitellmImport,
  tokens: TokenImport | undefined,
  output: OutputFlags['output'],
): Promise<string> {
  const { importText, importDocument } = await import('../litellm/import-report.ts');
  if (output === 'table') return importText(imported, tokens);
  return (await formatOf(output)).document(importDocument(imported, tokens));
}
