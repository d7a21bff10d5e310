import { asArray, asObject, type JsonObject } from '@gateway/json';

export { asArray as toArray, asString as toText, type JsonObject } from '@gateway/json';

export function isJsonObject(value: unknown): value is JsonObject {
  return asObject(value) !== undefined;
}

/** The value when it is an object, else an empty one. */
export function toObject(value: unknown): JsonObject {
  return asObject(value) ?? {};
}

/** The objects of an array; everything else in it is left out. */
export function toObjects(value: unknown): readonly JsonObject[] {
  return asArray(value).filter(isJsonObject);
}
