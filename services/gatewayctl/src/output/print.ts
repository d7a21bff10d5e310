import type { Message } from '@bufbuild/protobuf';
import type { GenMessage } from '@bufbuild/protobuf/codegenv2';
import { type Command, Option } from 'commander';
import { stringify } from 'yaml';
import { type Plain, toPlain } from './plain.ts';
import { type Columns, Table } from './table.ts';

export const outputFormats = ['table', 'json', 'yaml'] as const;

/** The flag that every command with an answer has. */
export interface OutputFlags {
  readonly output: (typeof outputFormats)[number];
}

export function withOutput(command: Command): Command {
  const flag = new Option('-o, --output <format>', 'for people, or for programs').choices(outputFormats);
  return command.addOption(flag.default('table'));
}

/** Writes a part of the result to standard output. */
export function print(text: string): void {
  process.stdout.write(text);
}

/** Writes a line to standard error: progress, and what is not the result. */
export function note(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Prints one message. @param textOf what a person reads of it. */
export function printMessage<T extends Message>(
  { output }: OutputFlags,
  schema: GenMessage<T>,
  message: T | undefined,
  textOf: (message: T) => string,
): void {
  if (message === undefined) return;
  print(output === 'table' ? textOf(message) : documentOf(output, toPlain(schema, message)));
}

/** A value as a document of its own. */
export function documentOf(output: 'json' | 'yaml', value: Plain): string {
  return output === 'json' ? `${JSON.stringify(value, undefined, 2)}\n` : stringify(value);
}

/** Prints messages as rows, page after page. */
export class ListPrinter<T extends Message> {
  readonly #output: OutputFlags['output'];
  readonly #schema: GenMessage<T>;
  readonly #table: Table<T>;
  #printed = 0;

  constructor({ output }: OutputFlags, schema: GenMessage<T>, columns: Columns<T>) {
    this.#output = output;
    this.#schema = schema;
    this.#table = new Table(columns);
  }

  add(messages: readonly T[]): void {
    if (messages.length === 0) return;
    if (this.#output === 'table') print(this.#table.linesOf(messages));
    else print(messages.map((message, index) => this.#element(message, this.#printed + index)).join(''));
    this.#printed += messages.length;
  }

  get isEmpty(): boolean {
    return this.#printed === 0;
  }

  /** @param whenNone what a person should know when there was nothing to print. */
  end(whenNone: string): void {
    if (this.#output === 'json') print(this.#printed === 0 ? '[]\n' : '\n]\n');
    else if (this.#printed > 0) return;
    else if (this.#output === 'yaml') print('[]\n');
    else note(whenNone);
  }

  #element(message: T, index: number): string {
    const plain = toPlain(this.#schema, message);
    if (this.#output === 'yaml') return stringify([plain]);
    return `${index === 0 ? '[\n' : ',\n'}${JSON.stringify(plain)}`;
  }
}

export function printList<T extends Message>(
  flags: OutputFlags,
  schema: GenMessage<T>,
  messages: readonly T[],
  { columns, whenNone }: { readonly columns: Columns<T>; readonly whenNone: string },
): void {
  const printer = new ListPrinter(flags, schema, columns);
  printer.add(messages);
  printer.end(whenNone);
}

/** Prints messages as they come, without an end: each a row, a line of JSON, or a document of YAML. */
export function streamPrinter<T extends Message>({ output }: OutputFlags, schema: GenMessage<T>, columns: Columns<T>) {
  const table = new Table(columns);
  return (messages: readonly T[]): void => {
    if (messages.length === 0) return;
    if (output === 'table') print(table.linesOf(messages));
    for (const message of output === 'table' ? [] : messages) {
      const plain = toPlain(schema, message);
      print(output === 'json' ? `${JSON.stringify(plain)}\n` : `---\n${stringify(plain)}`);
    }
  };
}

/** Prints one state of something after the other: on a terminal each in the place of the one before. */
export async function printStates<T extends Message>(
  { output }: OutputFlags,
  schema: GenMessage<T>,
  { states, textOf }: { readonly states: AsyncIterable<T | undefined>; readonly textOf: (state: T) => string },
): Promise<void> {
  const clear = process.stdout.isTTY && output === 'table' ? '\x1b[H\x1b[2J\x1b[3J' : '';
  for await (const state of states) {
    if (state === undefined) continue;
    if (output === 'table') print(`${clear}${textOf(state)}\n`);
    else if (output === 'json') print(`${JSON.stringify(toPlain(schema, state))}\n`);
    else print(`---\n${stringify(toPlain(schema, state))}`);
  }
}
