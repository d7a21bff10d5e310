import { type DescMessage, type JsonObject, type JsonValue, type MessageShape, toJson } from '@bufbuild/protobuf';

/** A message as the audit log and files have it: times are ISO 8601, under names without a unit. */
export function readableJson<S extends DescMessage>(schema: S, message: MessageShape<S>): JsonObject {
  return readableObject(toJson(schema, message) as JsonObject);
}

function readableObject(object: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(object).map(([name, value]) =>
      /(?:At|Until)Ms$/.test(name)
        ? [name.slice(0, -'Ms'.length), new Date(Number(value)).toISOString()]
        : [name, readable(value)],
    ),
  );
}

function readable(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(readable);
  return typeof value === 'object' && value !== null ? readableObject(value) : value;
}
