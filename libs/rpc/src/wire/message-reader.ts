import { create, type DescField, type DescMessage, type DescOneof } from '@bufbuild/protobuf';
import { codingOf } from './scalars.ts';
import type { WireReader } from './wire-reader.ts';

/** How the messages of a covered schema are read. */
export class MessageReader {
  readonly #empty: Message;
  /** Members that no two messages may share, and what makes a new one. */
  readonly #own: (readonly [name: string, make: () => object])[] = [];
  /** By the numbers of the fields. */
  readonly #fields: (FieldReader | undefined)[] = [];

  static of(schema: DescMessage): MessageReader {
    const known = readers.get(schema);
    if (known !== undefined) return known;
    const reader = new MessageReader(schema);
    // Before its fields are looked at: a message may hold messages of its own kind.
    readers.set(schema, reader);
    for (const field of schema.fields) reader.#fields[field.number] = fieldReader(field);
    return reader;
  }

  private constructor(schema: DescMessage) {
    this.#empty = { ...create(schema) };
    for (const member of schema.members) {
      if (member.kind === 'oneof') this.#own.push([member.localName, () => ({ case: undefined })]);
      else if (member.fieldKind === 'list') this.#own.push([member.localName, () => []]);
      else if (member.fieldKind === 'map') this.#own.push([member.localName, () => ({})]);
    }
  }

  /** A message without any field. A copy is made many times faster than by going through the schema. */
  empty(): Message {
    const message = { ...this.#empty };
    for (const [name, make] of this.#own) message[name] = make();
    return message;
  }

  /** Reads the fields up to the end into the message. Fields of a newer contract than ours are kept as they are. */
  read(reader: WireReader, message: Message, end: number, depth: number): void {
    if (depth > deepest) throw new Error(`messages are nested more than ${deepest} times`);
    let unknown: unknown[] | undefined;
    while (reader.position < end) {
      const tag = reader.tag();
      const field = this.#fields[tag >>> 3];
      if (field !== undefined) field(reader, message, depth, tag & 7);
      else {
        unknown ??= '$unknown' in message ? itemsOf(message, '$unknown') : [];
        unknown.push({ no: tag >>> 3, wireType: tag & 7, data: reader.skip(tag, deepest - depth) });
      }
    }
    if (unknown !== undefined) message.$unknown = unknown;
  }
}

const readers = new WeakMap<DescMessage, MessageReader>();

/** The members of a message by their local names. */
export type Message = { [name: string]: unknown };
type FieldReader = (reader: WireReader, message: Message, depth: number, wireType: number) => void;

function fieldReader(field: DescField): FieldReader {
  switch (field.fieldKind) {
    case 'list':
      return field.message === undefined ? listReader(field) : messageListReader(field, field.message);
    case 'map':
      return mapReader(field);
    case 'message':
      return field.oneof === undefined ? messageReader(field) : messageCaseReader(field, field.oneof);
    default:
      return field.oneof === undefined ? scalarReader(field) : scalarCaseReader(field, field.oneof);
  }
}

function scalarReader(field: DescField): FieldReader {
  const { localName } = field;
  const { read } = codingOf(field);
  return (reader, message) => {
    message[localName] = read(reader);
  };
}

function scalarCaseReader(field: DescField, oneof: DescOneof): FieldReader {
  const { read } = codingOf(field);
  return (reader, message) => {
    message[oneof.localName] = { case: field.localName, value: read(reader) };
  };
}

/** A message that comes in several parts is all of them together. */
function messageReader(field: MessageField): FieldReader {
  const { localName } = field;
  const schema = MessageReader.of(field.message);
  return (reader, message, depth) => {
    const known = message[localName];
    const child = isMessage(known) ? known : schema.empty();
    readWithin(schema, reader, child, depth);
    message[localName] = child;
  };
}

function messageCaseReader(field: MessageField, oneof: DescOneof): FieldReader {
  const schema = MessageReader.of(field.message);
  return (reader, message, depth) => {
    const chosen = message[oneof.localName];
    const known = isMessage(chosen) && chosen.case === field.localName ? chosen.value : undefined;
    const child = isMessage(known) ? known : schema.empty();
    readWithin(schema, reader, child, depth);
    message[oneof.localName] = { case: field.localName, value: child };
  };
}

function messageListReader(field: DescField, message: DescMessage): FieldReader {
  const { localName } = field;
  const schema = MessageReader.of(message);
  return (reader, message, depth) => {
    const child = schema.empty();
    readWithin(schema, reader, child, depth);
    itemsOf(message, localName).push(child);
  };
}

/** Numbers may come packed or one by one, whatever the contract says. */
function listReader(field: DescField): FieldReader {
  const { localName } = field;
  const { read, wireType: ownWireType } = codingOf(field);
  return (reader, message, _depth, wireType) => {
    const items = itemsOf(message, localName);
    if (wireType !== lengthDelimited || ownWireType === lengthDelimited) {
      items.push(read(reader));
      return;
    }
    const length = reader.uint32();
    const end = reader.position + length;
    while (reader.position < end) items.push(read(reader));
  };
}

/** A map is a list of entries, each a message of the key as field 1 and the value as field 2. */
function mapReader(field: MapField): FieldReader {
  const { localName } = field;
  const { read, zero } = codingOf(field);
  return (reader, message, depth) => {
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
    const entries = message[localName];
    if (isMessage(entries)) setOwn(entries, key, value ?? zero());
  };
}

function readWithin(schema: MessageReader, reader: WireReader, message: Message, depth: number): void {
  const length = reader.uint32();
  schema.read(reader, message, reader.position + length, depth + 1);
}

/** Also for a key that objects have a meaning for. */
function setOwn(entries: Message, key: string, value: unknown): void {
  if (key !== '__proto__') entries[key] = value;
  else Object.defineProperty(entries, key, { value, writable: true, enumerable: true, configurable: true });
}

function itemsOf(message: Message, name: string): unknown[] {
  const items = message[name];
  if (!Array.isArray(items)) throw new TypeError(`${name} is not a list`);
  return items;
}

function isMessage(value: unknown): value is Message {
  return typeof value === 'object' && value !== null;
}

type MessageField = Extract<DescField, { fieldKind: 'message' }>;
type MapField = Extract<DescField, { fieldKind: 'map' }>;

const lengthDelimited = 2;

/** As protobuf-es has it. */
const deepest = 100;
