import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { scalarCodings } from './scalars.ts';

/** Whether the messages of a schema are written by a MessageWriter and read by a MessageReader: everything that our contracts are made of, and no more. */
export function isCovered(schema: DescMessage, seen = new Set<DescMessage>()): boolean {
  if (seen.has(schema)) return true;
  seen.add(schema);
  return schema.file.proto.syntax === 'proto3' && schema.fields.every((field) => isFieldCovered(field, seen));
}

function isFieldCovered(field: DescField, seen: Set<DescMessage>): boolean {
  if (field.fieldKind === 'map') return areMapEntriesCovered(field);
  if (field.enum !== undefined) return field.enum.open;
  if (field.message !== undefined) return isPlain(field.message) && isCovered(field.message, seen);
  return field.scalar === undefined || (scalarCodings.has(field.scalar) && !field.longAsString);
}

function areMapEntriesCovered({ mapKey, mapKind, scalar }: DescField & { fieldKind: 'map' }): boolean {
  return mapKind === 'scalar' && mapKey === ScalarType.STRING && scalarCodings.has(scalar);
}

/** Google's own types, apart from a few, are kept by protobuf-es in forms of their own when they are fields. */
function isPlain({ typeName }: DescMessage): boolean {
  return !typeName.startsWith('google.protobuf.') || typeName === 'google.protobuf.Timestamp';
}
