import type { Message } from '@bufbuild/protobuf';
import type { GenMessage } from '@bufbuild/protobuf/codegenv2';
import { hasUnseen, visibleJson, visibleLines, visibleYaml, withVisibleTexts } from '@gateway/presentation';
import { type Command, Option } from 'commander';
import { Document, visit } from 'yaml';
import { type Plain, toPlain } from './plain.ts';
import { type Columns, Table } from './table.ts';

const outputFormats = ['table', 'json', 'yaml'] as const;

/** The flag of every command with output. */
export interface OutputFlags {
  readonly output: (typeof outputFormats)[number];
}

export function withOutput(command: Command): Command {
  const flag = new Option('-o, --output <format>', 'output format').choices(outputFormats);
  return command.addOption(flag.default('table'));
}

/** Writes a part of the result to standard output. */
export function print(text: string): void {
  process.stdout.write(text);
}

/** Writes a line to standard error: progress and notes. */
export function note(line: string): void {
  process.stderr.write(`${visibleLines(line)}\n`);
}

/** Prints one message. @param textOf formats it for people. */
export function printMessage<T extends Message>(
  { output }: OutputFlags,
  schema: GenMessage<T>,
  message: T | undefined,
  textOf: (message: T) => string,
): void {
  if (message === undefined) return;
  print(output === 'table' ? textOf(withVisibleTexts(message)) : documentOf(output, toPlain(schema, message)));
}

/** Prints a value as a document of its own. */
export function documentOf(output: 'json' | 'yaml', value: Plain): string {
  return output === 'json' ? `${jsonOf(value, 2)}\n` : yamlOf(value);
}

/** Prints messages as rows, page after page. */
export function listPrinter<T extends Message>({ output }: OutputFlags, schema: GenMessage<T>, columns: Columns<T>) {
  const table = new Table(columns);
  let printed = 0;
  const documentAt = (index: number, value: Plain) =>
    output === 'yaml' ? yamlOf([value]) : `${index === 0 ? '[\n' : ',\n'}${jsonOf(value)}`;
  return {
    isEmpty: () => printed === 0,
    add(messages: readonly T[]): void {
      if (messages.length === 0) return;
      if (output === 'table') print(table.linesOf(messages.map(withVisibleTexts)));
      else print(messages.map((message, index) => documentAt(printed + index, toPlain(schema, message))).join(''));
      printed += messages.length;
    },
    /** @param whenNone the note if there are no rows. */
    end(whenNone: string): void {
      if (output === 'json') print(printed === 0 ? '[]\n' : '\n]\n');
      else if (printed > 0) return;
      else if (output === 'yaml') print('[]\n');
      else note(whenNone);
    },
  };
}

export async function printList<T extends Message>(
  flags: OutputFlags,
  schema: GenMessage<T>,
  pages: AsyncIterable<readonly T[]> | Iterable<readonly T[]>,
  { columns, whenNone }: { readonly columns: Columns<T>; readonly whenNone: string },
): Promise<void> {
  const printer = listPrinter(flags, schema, columns);
  for await (const messages of pages) printer.add(messages);
  printer.end(whenNone);
}

/** Prints messages as they come, without an end. */
export function streamPrinter<T extends Message>({ output }: OutputFlags, schema: GenMessage<T>, columns: Columns<T>) {
  const table = new Table(columns);
  return (messages: readonly T[]): void => {
    if (messages.length === 0) return;
    if (output === 'table') print(table.linesOf(messages.map(withVisibleTexts)));
    else print(messages.map((message) => streamedDocument(output, toPlain(schema, message))).join(''));
  };
}

/** Prints one state after the other: on a terminal each replaces the one before. */
export async function printOverviews<T extends Message>(
  { output }: OutputFlags,
  schema: GenMessage<T>,
  states: AsyncIterable<{ readonly overview?: T | undefined }>,
  textOf: (overview: T) => Promise<string>,
): Promise<void> {
  const clear = process.stdout.isTTY ? '\x1b[H\x1b[2J\x1b[3J' : '';
  for await (const { overview } of states) {
    if (overview === undefined) continue;
    if (output === 'table') print(`${clear}${await textOf(withVisibleTexts(overview))}\n`);
    else print(streamedDocument(output, toPlain(schema, overview)));
  }
}

/** A value of a stream: a line of JSON, or a document of YAML. */
function streamedDocument(output: 'json' | 'yaml', value: Plain): string {
  return output === 'json' ? `${jsonOf(value)}\n` : `---\n${yamlOf(value)}`;
}

/**
 * Programs get texts unchanged, with escapes for characters that are invisible or that control a
 * terminal.
 */
function jsonOf(value: Plain, indent?: number): string {
  return visibleJson(JSON.stringify(value, undefined, indent));
}

function yamlOf(value: Plain): string {
  const document = new Document(value);
  visit(document, {
    Scalar: (_, scalar) => {
      if (typeof scalar.value === 'string' && hasUnseen(scalar.value)) scalar.type = 'QUOTE_DOUBLE';
    },
  });
  return visibleYaml(document.toString());
}
