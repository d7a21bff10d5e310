import { create, type DescField, type DescMessage } from '@bufbuild/protobuf';
import { compiledCodecs, notCompiled, quoted } from './compile.ts';
import type { ScalarCoding } from './scalars.ts';
import type { WireReader } from './wire-reader.ts';

/** How the messages of a covered schema are read. */
export interface MessageReader {
  /** A message without any field. */
  readonly empty: () => Message;
  /** Reads the fields up to the end into the message. Fields of a newer contract than ours are kept as they are. */
  readonly read: (reader: WireReader, message: Message, end: number, depth: number) => void;
}

/** The members of a message by their local names. */
export type Message = { [name: string]: unknown };

const noBytes = new Uint8Array(0);
/** As protobuf-es has it. */
const deepest = 100;

/** The reader of a schema. */
export const messageReader = compiledCodecs<MessageReader>({
  pending: () => ({ empty: notCompiled, read: notCompiled }),
  sourceOf,
  scope: { deepest, noBytes, readEntry, readItems, tooDeep, withUnknown },
  isCodec: (value): value is MessageReader =>
    isMessage(value) && typeof value.empty === 'function' && typeof value.read === 'function',
});

function sourceOf(schema: DescMessage): string {
  return `return {
    empty: () => (${emptySource(schema)}),
    read(reader, message, end, depth) {
      if (depth > deepest) tooDeep();
      let unknown;
      while (reader.position < end) {
        const tag = reader.tag();
        switch (tag >>> 3) {
          ${schema.fields.map((field) => `case ${field.number}: { ${fieldSource(field)} break; }`).join('\n')}
          default: unknown = withUnknown(unknown, reader, message, tag, depth);
        }
      }
      if (unknown !== undefined) message.$unknown = unknown;
    },
  };`;
}

/** The members that protobuf-es gives a message without any field, in their order. */
function emptySource(schema: DescMessage): string {
  const members = Object.entries({ ...create(schema) });
  return `{ ${members.map(([name, value]) => `${quoted(name)}: ${literal(value)}`).join(', ')} }`;
}

/** No two messages may share a list, a map or a choice. */
function literal(value: unknown): string {
  if (Array.isArray(value)) return '[]';
  if (value instanceof Uint8Array) return 'noBytes';
  if (typeof value === 'bigint') return `${value}n`;
  if (isMessage(value)) return 'case' in value ? '{ case: undefined }' : '{}';
  return JSON.stringify(value);
}

function fieldSource(field: DescField): string {
  const member = `message[${quoted(field.localName)}]`;
  switch (field.fieldKind) {
    case 'list':
      if (field.message === undefined) return `readItems(reader, ${member}, coding${field.number}, tag & 7);`;
      return `${childSource(field, '')} ${member}.push(child);`;
    case 'map':
      return `readEntry(reader, ${member}, coding${field.number}, depth);`;
    case 'message':
      // A message that comes in several parts is all of them together.
      if (field.oneof === undefined) return `${childSource(field, `${member} ??`)} ${member} = child;`;
      return `${childSource(field, chosenSource(field))} ${choice(field, 'child')}`;
    default:
      if (field.oneof === undefined) return `${member} = coding${field.number}.read(reader);`;
      return choice(field, `coding${field.number}.read(reader)`);
  }
}

/** `known ` stands before what makes a new child. */
function childSource({ number }: DescField, known: string): string {
  return `
    const length = reader.uint32();
    const childEnd = reader.position + length;
    const child = ${known} child${number}.empty();
    child${number}.read(reader, child, childEnd, depth + 1);`;
}

function chosenSource({ oneof, localName }: DescField): string {
  const choice = `message[${quoted(oneof?.localName ?? '')}]`;
  return `${choice}.case === ${quoted(localName)} ? ${choice}.value :`;
}

function choice({ oneof, localName }: DescField, value: string): string {
  return `message[${quoted(oneof?.localName ?? '')}] = { case: ${quoted(localName)}, value: ${value} };`;
}

/** Numbers may come packed or one by one, whatever the contract says. */
function readItems(reader: WireReader, items: unknown[], { read, wireType }: ScalarCoding, sentType: number): void {
  if (sentType !== lengthDelimited || wireType === lengthDelimited) {
    items.push(read(reader));
    return;
  }
  const length = reader.uint32();
  const end = reader.position + length;
  while (reader.position < end) items.push(read(reader));
}

/** A map is a list of entries, each a message of the key as field 1 and the value as field 2. */
function readEntry(reader: WireReader, entries: Message, { read, zero }: ScalarCoding, depth: number): void {
  let key = '';
  let value: unknown;
  const length = reader.uint32();
  const end = reader.position + length;
  while (reader.position < end) {
    const tag = reader.tag();
    if (tag >>> 3 === 1) key = reader.string();
    else if (tag >>> 3 === 2) value = read(reader);
    else reader.skip(tag, deepest - depth);
  }
  setOwn(entries, key, value ?? zero());
}

/** Also for a key that objects have a meaning for. */
function setOwn(entries: Message, key: string, value: unknown): void {
  if (key !== '__proto__') entries[key] = value;
  else Object.defineProperty(entries, key, { value, writable: true, enumerable: true, configurable: true });
}

/** What was not known so far, and the field whose tag has just been read. */
function withUnknown(
  known: unknown[] | undefined,
  reader: WireReader,
  message: Message,
  tag: number,
  depth: number,
): unknown[] {
  const unknown = known ?? (Array.isArray(message.$unknown) ? message.$unknown : []);
  unknown.push({ no: tag >>> 3, wireType: tag & 7, data: reader.skip(tag, deepest - depth) });
  return unknown;
}

function tooDeep(): never {
  throw new Error(`messages are nested more than ${deepest} times`);
}

function isMessage(value: unknown): value is Message {
  return typeof value === 'object' && value !== null;
}

const lengthDelimited = 2;
