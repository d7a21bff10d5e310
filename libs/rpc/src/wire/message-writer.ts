import type { DescField, DescMessage, DescOneof } from '@bufbuild/protobuf';
import { FeatureSet_FieldPresence } from '@bufbuild/protobuf/wkt';
import { compiledCodecs, notCompiled, quoted } from './compile.ts';
import { codingOf, type ScalarCoding } from './scalars.ts';
import type { WireWriter } from './wire-writer.ts';

/** How the messages of a covered schema are written: each field in the order of its number. */
export interface MessageWriter {
  /** Writes a message, or the fields to make one of. Throws for values that their fields do not hold. */
  readonly write: (writer: WireWriter, message: object) => void;
}

/** The writer of a schema. */
export const messageWriter = compiledCodecs<MessageWriter>({
  pending: () => ({ write: notCompiled }),
  sourceOf,
  scope: { noMessage, writeEntries, writeUnknown },
  isCodec: (value): value is MessageWriter =>
    typeof value === 'object' && value !== null && 'write' in value && typeof value.write === 'function',
});

function sourceOf(schema: DescMessage): string {
  const fields = [...schema.fields].sort((one, other) => one.number - other.number);
  return `return {
    write(writer, message) {
      let value;
      ${fields.map(fieldSource).join('\n')}
      if (Array.isArray(message.$unknown)) writeUnknown(writer, message.$unknown);
    },
  };`;
}

function fieldSource(field: DescField): string {
  const given = `value = message[${quoted(field.localName)}];`;
  switch (field.fieldKind) {
    case 'list':
      return `${given} if (Array.isArray(value) && value.length > 0) { ${listSource(field)} }`;
    case 'map':
      return `${given} if (typeof value === 'object' && value !== null) {
        writeEntries(writer, value, coding${field.number}, ${tagOf(field, lengthDelimited)});
      }`;
    default:
      if (field.oneof !== undefined) return choiceSource(field, field.oneof);
      return `${given} if (value !== undefined && value !== null${unlessZero(field)}) { ${valueSource(field)} }`;
  }
}

/** Zero and absent are the same for most. */
function unlessZero(field: SingularField): string {
  const isImplicit = field.message === undefined && field.presence === FeatureSet_FieldPresence.IMPLICIT;
  return isImplicit ? ` && !coding${field.number}.isZero(value)` : '';
}

function choiceSource(field: SingularField, oneof: DescOneof): string {
  return `value = message[${quoted(oneof.localName)}];
    if (typeof value === 'object' && value !== null && value.case === ${quoted(field.localName)}) {
      value = value.value;
      ${valueSource(field)}
    }`;
}

function listSource(field: ListField): string {
  if (!field.packed) return `const items = value; for (value of items) { ${valueSource(field)} }`;
  return `writer.varint(${tagOf(field, lengthDelimited)});
    const start = writer.beginPart();
    for (const item of value) coding${field.number}.write(writer, item);
    writer.endPart(start);`;
}

/** Writes `value` behind its tag. */
function valueSource(field: SingularField | ListField): string {
  const { number } = field;
  if (field.message === undefined) {
    return `writer.varint(${tagOf(field, codingOf(field).wireType)}); coding${number}.write(writer, value);`;
  }
  return `if (typeof value !== 'object' || value === null) noMessage(${quoted(field.toString())});
    writer.varint(${tagOf(field, lengthDelimited)});
    const start = writer.beginPart();
    child${number}.write(writer, value);
    writer.endPart(start);`;
}

/** A map is a list of entries, each a message of the key as field 1 and the value as field 2. */
function writeEntries(
  writer: WireWriter,
  entries: Readonly<Record<string, unknown>>,
  { write, wireType }: ScalarCoding,
  tag: number,
): void {
  for (const key of Object.keys(entries)) {
    writer.varint(tag);
    const start = writer.beginPart();
    writer.varint((1 << 3) | lengthDelimited);
    writer.string(key);
    writer.varint((2 << 3) | wireType);
    write(writer, entries[key]);
    writer.endPart(start);
  }
}

/** Fields of a newer contract than ours, as they came. */
function writeUnknown(writer: WireWriter, unknown: readonly UnknownField[]): void {
  for (const { no, wireType, data } of unknown) {
    writer.varint(no * 8 + wireType);
    writer.raw(data);
  }
}

function noMessage(field: string): never {
  throw new TypeError(`${field} does not hold a message`);
}

function tagOf(field: DescField, wireType: number): number {
  return field.number * 8 + wireType;
}

type SingularField = Extract<DescField, { fieldKind: 'scalar' | 'enum' | 'message' }>;
type ListField = Extract<DescField, { fieldKind: 'list' }>;
type UnknownField = { readonly no: number; readonly wireType: number; readonly data: Uint8Array };

const lengthDelimited = 2;
