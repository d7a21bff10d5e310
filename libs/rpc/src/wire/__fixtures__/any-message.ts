import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import fc from 'fast-check';

/** Fields to make a message of, some left out, of any schema that services use. */
export function anyMessage(schema: DescMessage, depth = 0): fc.Arbitrary<Record<string, unknown>> {
  const members = schema.members.map((member): [string, fc.Arbitrary<unknown>] => {
    if (member.kind === 'oneof') return [member.localName, anyCase(member.fields, depth)];
    return [member.localName, anyField(member, depth)];
  });
  return fc.record(Object.fromEntries(members), { requiredKeys: [] });
}

function anyCase(fields: readonly DescField[], depth: number): fc.Arbitrary<unknown> {
  const none = fc.constant({ case: undefined });
  const cases = fields.map((field) =>
    anyValue(field, depth).map((value) =>
      value === undefined ? { case: undefined } : { case: field.localName, value },
    ),
  );
  return fc.oneof(none, ...cases);
}

function anyField(field: DescField, depth: number): fc.Arbitrary<unknown> {
  switch (field.fieldKind) {
    case 'list':
      if (depth > 2 && field.message !== undefined) return fc.constant([]);
      return fc.array(anyValue(field, depth), { maxLength: 3 });
    case 'map':
      return fc.dictionary(anyText, anyValue(field, depth), { maxKeys: 3, noNullPrototype: true });
    default:
      return fc.option(anyValue(field, depth), { nil: undefined });
  }
}

function anyValue(field: DescField, depth: number): fc.Arbitrary<unknown> {
  if (field.message !== undefined) return depth > 2 ? fc.constant(undefined) : anyMessage(field.message, depth + 1);
  if (field.enum !== undefined) return fc.oneof(...field.enum.values.map(({ number }) => fc.constant(number)));
  switch (field.scalar) {
    case ScalarType.STRING:
      return anyText;
    case ScalarType.BYTES:
      return fc.uint8Array({ maxLength: 400 });
    case ScalarType.BOOL:
      return fc.boolean();
    case ScalarType.INT32:
      return fc.integer();
    case ScalarType.UINT32:
      return fc.integer({ min: 0, max: 2 ** 32 - 1 });
    case ScalarType.INT64:
      return fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    case ScalarType.UINT64:
      return fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
    case ScalarType.DOUBLE:
      return fc.double();
    default:
      throw new Error(`${field.toString()} has a type that no contract of ours has`);
  }
}

/** Also what is no well-formed text, and texts whose length takes two bytes. */
const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ minLength: 60, maxLength: 300 }),
  fc.string({ unit: 'binary', minLength: 10, maxLength: 150 }),
  fc.constant('\ud800x'),
);
