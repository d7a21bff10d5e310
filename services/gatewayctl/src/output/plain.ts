import { type DescEnum, type DescField, type Message, ScalarType } from '@bufbuild/protobuf';
import type { GenMessage } from '@bufbuild/protobuf/codegenv2';
import { type ReflectMessage, reflect } from '@bufbuild/protobuf/reflect';

export type Plain = null | boolean | number | string | readonly Plain[] | { readonly [name: string]: Plain };

/** How values are written for programs. */
export interface DocumentFormat {
  /** A document of its own. */
  document(value: Plain): string;
  /** An element of a list, which `endOfList` completes. */
  element(value: Plain, index: number): string;
  endOfList(length: number): string;
  /** A value of a stream without an end: a line of JSON, or a document of YAML. */
  streamed(value: Plain): string;
}

/**
 * A message of the admin API for programs: its fields by their names in JSON, numbers as numbers,
 * enums as words in lower case, times in ISO 8601. Every field is present; unset fields are null.
 */
export function toPlain<T extends Message>(schema: GenMessage<T>, message: T): Plain {
  return plainMessage(reflect(schema, message));
}

/** The same for a message of a list: one that can't be written says so, and hides no other. */
export function toPlainRow<T extends Message>(schema: GenMessage<T>, message: T): Plain {
  try {
    return toPlain(schema, message);
  } catch (thrown) {
    return { unreadable: thrown instanceof Error ? thrown.message : String(thrown) };
  }
}

function plainMessage(message: ReflectMessage): Plain {
  return Object.fromEntries(
    message.fields.map((field) => {
      const value = plainField(message, field);
      if (!instantName.test(field.jsonName)) return [field.jsonName, value];
      return [field.jsonName.slice(0, -2), value === null ? null : new Date(Number(value)).toISOString()];
    }),
  );
}

/** The contracts' name of an instant, in milliseconds: `createdAtMs`, `untilMs`. */
const instantName = /(?:^at|At|^until|Until|^since)Ms$/;

function plainField(message: ReflectMessage, field: DescField): Plain {
  switch (field.fieldKind) {
    case 'message':
      return message.isSet(field) ? plainMessage(message.get(field)) : null;
    case 'list':
      return [...message.get(field)].map((value) => plainValue(field, value));
    case 'map': {
      const entries = [...message.get(field)].map(([key, value]) => [String(key), plainValue(field, value)] as const);
      return Object.fromEntries(entries.toSorted(([one], [other]) => (one < other ? -1 : 1)));
    }
    default:
      // A field without presence is always set: its default is a normal value.
      return field.presence !== implicitPresence && !message.isSet(field)
        ? null
        : plainValue(field, message.get(field));
  }
}

/** google.protobuf.FeatureSet.FieldPresence.IMPLICIT */
const implicitPresence = 2;

type ValueKind = Pick<DescField, 'enum' | 'scalar'>;

function plainValue({ enum: enumeration, scalar }: ValueKind, value: unknown): Plain {
  if (enumeration !== undefined) return enumText(enumeration, Number(value));
  if (scalar === undefined) return plainMessage(value as ReflectMessage);
  if (scalar === ScalarType.BYTES) return Buffer.from(value as Uint8Array).toString('base64');
  return value as boolean | number | string;
}

function enumText({ value, sharedPrefix = '' }: DescEnum, number: number): string {
  const name = value[number]?.name ?? 'unknown';
  return name.toLowerCase().replace(sharedPrefix.toLowerCase(), '');
}
