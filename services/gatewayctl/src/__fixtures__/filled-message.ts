import { create, type DescField, type DescMessage, type Message, ScalarType } from '@bufbuild/protobuf';
import { reflect } from '@bufbuild/protobuf/reflect';

/** Values of fields that must have a certain one, by their names in TypeScript. */
export type FieldValues = Readonly<Record<string, unknown>>;

/**
 * A message with every field set, made from its descriptor, so that a new field is set by itself.
 * Fields with the value undefined are left out.
 */
export function filledMessage(schema: DescMessage, values: FieldValues, depth = 0): Message {
  const message = create(schema);
  const filled = reflect(schema, message);
  const fields = schema.fields.filter(({ oneof }) => oneof === undefined);
  // The first case of each oneof that is set for a reason of its own.
  const cases = schema.oneofs.flatMap((oneof) => oneof.fields.slice(0, 1));
  for (const field of [...fields, ...cases]) {
    const inner = field.message;
    if (inner !== undefined && depth > deepest) continue;
    const given = Object.hasOwn(values, field.localName);
    const value = given ? values[field.localName] : fieldValue(field, values, depth);
    if (value === undefined) continue;
    if (field.fieldKind === 'list') filled.get(field).add(value);
    else if (field.fieldKind === 'map') filled.get(field).set('key', value);
    else filled.set(field, value);
  }
  return message;
}

const deepest = 4;

function fieldValue(field: DescField, values: FieldValues, depth: number): unknown {
  if (field.message !== undefined) return reflect(field.message, filledMessage(field.message, values, depth + 1));
  if (field.enum !== undefined) return field.enum.values[1]?.number;
  switch (field.scalar) {
    case ScalarType.BOOL:
      return true;
    case ScalarType.STRING:
      return field.localName.endsWith('Id') ? 'an-id' : (values.text ?? 'text');
    case ScalarType.BYTES:
      return new Uint8Array([1]);
    default:
      return 3;
  }
}
