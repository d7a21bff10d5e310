import { writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { Command } from 'commander';
import { NotAsItShouldBe, UsageError } from '../failures.ts';
import type { LitellmImport } from '../litellm/import-litellm.ts';
import { formatOf } from '../output/document-format.ts';
import { note, type OutputFlags, print, withOutput } from '../output/print.ts';
import { readNamedFile } from './flags.ts';

interface ImportFlags extends OutputFlags {
  readonly out: string;
  readonly dryRun?: true;
  readonly force?: true;
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
    .option('--force', 'overwrite the file')
    .option('--dry-run', 'print the list, and write nothing')
    .action(async (path: string, { out, dryRun, force, output }: ImportFlags) => {
      const { importLitellm } = await import('../litellm/import-litellm.ts');
      const text = await readNamedFile(path, path === '-' ? '/dev/stdin' : path);
      const imported = importLitellm(text, path === '-' ? 'config.yaml' : basename(path));
      const isWritten = dryRun === undefined && imported.text !== undefined;
      if (isWritten && out !== '-') await writeNew(out, imported.text, force);
      const report = await reportOf(imported, output);
      if (isWritten && out === '-') {
        print(imported.text);
        note(report.trimEnd());
      } else {
        print(report);
        note(isWritten ? `wrote ${out}` : 'nothing was written');
      }
      if (imported.text === undefined) throw new NotAsItShouldBe(`no model of ${path} can be taken.`);
    });
  return command;
}

async function writeNew(path: string, text: string, force: true | undefined): Promise<void> {
  try {
    await writeFile(path, text, { flag: force ? 'w' : 'wx' });
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined;
    if (code === 'EEXIST') throw new UsageError(`${path} exists. Name another file with --out, or use --force.`);
    throw code === undefined ? thrown : new Error(`${path} can't be written (${String(code)}).`);
  }
}

async function reportOf(imported: LitellmImport, output: OutputFlags['output']): Promise<string> {
  const { importText, importDocument } = await import('../litellm/import-report.ts');
  return output === 'table' ? importText(imported) : (await formatOf(output)).document(importDocument(imported));
}
