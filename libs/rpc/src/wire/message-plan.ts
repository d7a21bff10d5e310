import type { DescField, DescMessage, DescOneof } from '@bufbuild/protobuf';
import { FeatureSet_FieldPresence } from '@bufbuild/protobuf/wkt';
import { codingOf } from './scalars.ts';
import type { WireWriter } from './wire-writer.ts';

/** How the messages of a covered schema are written: each field in the order of its number. */
export class MessagePlan {
  readonly #fields: FieldWriter[] = [];

  static of(schema: DescMessage): MessagePlan {
    const known = plans.get(schema);
    if (known !== undefined) return known;
    const plan = new MessagePlan();
    // Before its fields are looked at: a message may hold messages of its own kind.
    plans.set(schema, plan);
    for (const field of [...schema.fields].sort((one, other) => one.number - other.number)) {
      plan.#fields.push(fieldWriter(field));
    }
    return plan;
  }

  /** Writes a message, or the fields to make one of. Throws for values that their fields do not hold. */
  write(writer: WireWriter, message: object): void {
    const members = message as Members;
    for (const write of this.#fields) write(writer, members);
    if (Array.isArray(members.$unknown)) writeUnknown(writer, members.$unknown);
  }
}

const plans = new WeakMap<DescMessage, MessagePlan>();

/** The members of a message by their local names, as the compiler has checked them where the message was made. */
type Members = { readonly [name: string]: unknown };
type FieldWriter = (writer: WireWriter, members: Members) => void;
type ValueWriter = (writer: WireWriter, value: unknown) => void;

function fieldWriter(field: DescField): FieldWriter {
  switch (field.fieldKind) {
    case 'list':
      return listWriter(field);
    case 'map':
      return mapWriter(field);
    default:
      return field.oneof === undefined ? singularWriter(field) : oneofWriter(field, field.oneof);
  }
}

function singularWriter(field: SingularField): FieldWriter {
  const { localName } = field;
  const write = valueWriter(field);
  if (field.fieldKind === 'message' || field.presence !== FeatureSet_FieldPresence.IMPLICIT) {
    return (writer, members) => {
      const value = members[localName];
      if (value !== undefined && value !== null) write(writer, value);
    };
  }
  const { isZero } = codingOf(field);
  return (writer, members) => {
    const value = members[localName];
    if (value !== undefined && value !== null && !isZero(value)) write(writer, value);
  };
}

function oneofWriter(field: SingularField, oneof: DescOneof): FieldWriter {
  const write = valueWriter(field);
  return (writer, members) => {
    const chosen = members[oneof.localName];
    if (isChosen(chosen) && chosen.case === field.localName) write(writer, chosen.value);
  };
}

function listWriter(field: ListField): FieldWriter {
  const { localName } = field;
  const write = field.packed ? packedWriter(field) : eachWriter(field);
  return (writer, members) => {
    const items = members[localName];
    if (Array.isArray(items) && items.length > 0) write(writer, items);
  };
}

function eachWriter(field: ListField): (writer: WireWriter, items: readonly unknown[]) => void {
  const write = valueWriter(field);
  return (writer, items) => {
    for (const item of items) write(writer, item);
  };
}

function packedWriter(field: ListField): (writer: WireWriter, items: readonly unknown[]) => void {
  const { write } = codingOf(field);
  const tag = tagOf(field, lengthDelimited);
  return (writer, items) => {
    writer.varint(tag);
    const start = writer.beginPart();
    for (const item of items) write(writer, item);
    writer.endPart(start);
  };
}

/** A map is a list of entries, each a message of the key as field 1 and the value as field 2. */
function mapWriter(field: MapField): FieldWriter {
  const { localName } = field;
  const coding = codingOf(field);
  const tag = tagOf(field, lengthDelimited);
  const keyTag = (1 << 3) | lengthDelimited;
  const valueTag = (2 << 3) | coding.wireType;
  return (writer, members) => {
    const entries = members[localName];
    if (!isRecord(entries)) return;
    for (const key of Object.keys(entries)) {
      writer.varint(tag);
      const start = writer.beginPart();
      writer.varint(keyTag);
      writer.string(key);
      writer.varint(valueTag);
      coding.write(writer, entries[key]);
      writer.endPart(start);
    }
  };
}

/** Writes a value behind its tag. */
function valueWriter(field: SingularField | ListField): ValueWriter {
  if (field.message !== undefined) return messageWriter(field, field.message);
  const coding = codingOf(field);
  const tag = tagOf(field, coding.wireType);
  return (writer, value) => {
    writer.varint(tag);
    coding.write(writer, value);
  };
}

function messageWriter(field: DescField, schema: DescMessage): ValueWriter {
  const plan = MessagePlan.of(schema);
  const tag = tagOf(field, lengthDelimited);
  return (writer, value) => {
    if (!isRecord(value)) throw new TypeError(`${field.toString()} does not hold a message`);
    writer.varint(tag);
    const start = writer.beginPart();
    plan.write(writer, value);
    writer.endPart(start);
  };
}

/** Fields of a newer contract than ours, as they came. */
function writeUnknown(writer: WireWriter, unknown: readonly UnknownField[]): void {
  for (const { no, wireType, data } of unknown) {
    writer.varint(no * 8 + wireType);
    writer.raw(data);
  }
}

type SingularField = Extract<DescField, { fieldKind: 'scalar' | 'enum' | 'message' }>;
type ListField = Extract<DescField, { fieldKind: 'list' }>;
type MapField = Extract<DescField, { fieldKind: 'map' }>;
type UnknownField = { readonly no: number; readonly wireType: number; readonly data: Uint8Array };

const lengthDelimited = 2;

function tagOf(field: DescField, wireType: number): number {
  return field.number * 8 + wireType;
}

function isChosen(value: unknown): value is { readonly case: unknown; readonly value: unknown } {
  return isRecord(value) && 'case' in value;
}

function isRecord(value: unknown): value is Members {
  return typeof value === 'object' && value !== null;
}
