import type { Message } from '@bufbuild/protobuf';
import type { GenMessage } from '@bufbuild/protobuf/codegenv2';
import { visibleLines, withVisibleTexts } from '@gateway/presentation/visible-text';
import { type Command, Option } from 'commander';
import { formatOf } from './document-format.ts';
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
export async function printMessage<T extends Message>(
  { output }: OutputFlags,
  schema: GenMessage<T>,
  message: T | undefined,
  textOf: (message: T) => string,
): Promise<void> {
  if (message === undefined) return;
  if (output === 'table') return print(textOf(withVisibleTexts(message)));
  const { document, toPlain } = await forPrograms(output);
  print(document(toPlain(schema, message)));
}

/** Prints messages as rows, page after page. */
export function listPrinter<T extends Message>({ output }: OutputFlags, schema: GenMessage<T>, columns: Columns<T>) {
  const table = new Table(columns);
  let printed = 0;
  return {
    isEmpty: () => printed === 0,
    async add(messages: readonly T[]): Promise<void> {
      if (messages.length === 0) return;
      const first = printed;
      printed += messages.length;
      if (output === 'table') return print(table.linesOf(messages.map(withVisibleTexts)));
      const { element, toPlainRow } = await forPrograms(output);
      print(messages.map((message, index) => element(toPlainRow(schema, message), first + index)).join(''));
    },
    /** @param whenNone the note if there are no rows. */
    async end(whenNone: string): Promise<void> {
      if (output !== 'table') print((await formatOf(output)).endOfList(printed));
      else if (printed === 0) note(whenNone);
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
  for await (const messages of pages) await printer.add(messages);
  await printer.end(whenNone);
}

/** Prints messages as they come, without an end. */
export function streamPrinter<T extends Message>({ output }: OutputFlags, schema: GenMessage<T>, columns: Columns<T>) {
  const table = new Table(columns);
  return async (messages: readonly T[]): Promise<void> => {
    if (messages.length === 0) return;
    if (output === 'table') return print(table.linesOf(messages.map(withVisibleTexts)));
    const { streamed, toPlainRow } = await forPrograms(output);
    print(messages.map((message) => streamed(toPlainRow(schema, message))).join(''));
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
    if (output === 'table') {
      print(`${clear}${await textOf(withVisibleTexts(overview))}\n`);
    } else {
      const { streamed, toPlain } = await forPrograms(output);
      print(streamed(toPlain(schema, overview)));
    }
  }
}

/** What only output for programs needs is loaded for them alone. */
async function forPrograms(output: 'json' | 'yaml') {
  const [format, plain] = await Promise.all([formatOf(output), import('./plain.ts')]);
  return { ...format, ...plain };
}
