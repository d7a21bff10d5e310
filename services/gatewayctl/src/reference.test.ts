import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { wrapText } from '@gateway/presentation';
import type { Argument, Command, Option } from 'commander';
import { expect, it } from 'vitest';
import { buildProgram, fullName } from './program.ts';

const file = join(import.meta.dirname, '../../../docs/reference/gatewayctl.md');
const program = await buildProgram({ env: {}, connect: () => Promise.reject(new Error('nothing is asked')) });

it('docs/reference/gatewayctl.md has every command with its arguments and flags', async () => {
  const [head] = readFileSync(file, 'utf8').split(/(?<=<!-- What follows .* -->\n)/);
  const commands = leavesOf(program).map(sectionOf);
  expect(commands.length).toBeGreaterThan(40);
  await expect(`${head}\n${commands.join('\n')}`).toMatchFileSnapshot(file);
});

it('every command, argument and flag is described', () => {
  const texts = leavesOf(program).flatMap((command) => [
    command.description(),
    ...command.registeredArguments.map(({ description }) => description),
    ...command.options.map(({ description }) => description),
  ]);
  expect(texts.filter((text) => text === '')).toEqual([]);
});

/** Commands that do something, except those for programs only. */
function leavesOf(command: Command): readonly Command[] {
  const seen = command
    .createHelp()
    .visibleCommands(command)
    .filter((each) => each.name() !== 'help');
  return seen.length === 0 ? [command] : seen.flatMap(leavesOf);
}

function sectionOf(command: Command): string {
  const alias = command.aliases().map((name) => ` Also \`${name}\`.`);
  const rows = [...command.registeredArguments.map(argumentRow), ...command.options.map(optionRow)];
  const table = rows.length === 0 ? '' : `\n|     |     |\n| --- | --- |\n${rows.join('')}`;
  return `## ${fullName(command)}\n\n${wrapText(`${prose(command.description())}${alias.join('')}`)}\n${table}`;
}

function argumentRow(argument: Argument): string {
  const name = argument.required ? `<${argument.name()}>` : `[${argument.name()}]`;
  return row(name, argument.description, { choices: argument.argChoices });
}

function optionRow({ flags, description, argChoices, defaultValue, mandatory }: Option): string {
  return row(flags, `${description}${mandatory ? '; required' : ''}`, { choices: argChoices, byDefault: defaultValue });
}

function row(
  name: string,
  text: string,
  more: { choices?: readonly string[] | undefined; byDefault?: unknown },
): string {
  const choices = more.choices === undefined ? '' : `: ${more.choices.map((each) => `\`${each}\``).join(', ')}`;
  const byDefault = more.byDefault === undefined ? '' : ` (${String(more.byDefault)})`;
  return `| \`${name}\` | ${`${prose(text)}${choices}${byDefault}`.replaceAll('|', '\\|')} |\n`;
}

/** Escapes text that would be read as markup. */
function prose(text: string): string {
  return text.replaceAll('<', '\\<');
}
