/** A parsed JSON object whose members are still to be checked. */
export interface JsonObject {
  readonly [key: string]: unknown;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value when it is an object, else an empty one. */
export function toObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** The value when it is an array, else an empty one. */
export function toArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The objects of an array; everything else in it is left out. */
export function toObjects(value: unknown): readonly JsonObject[] {
  return toArray(value).filter(isJsonObject);
}

export function toText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
