/** A type of values that are written as JSON, which leaves out undefined members. */
export type MaybeUndefined<T> = { [K in keyof T]: object extends Pick<T, K> ? T[K] | undefined : T[K] };
/** A parsed JSON object whose members are still unknown. */
export type JsonObject = Readonly<Record<string, unknown>>;

/**
 * The value of a JSON text; undefined when it is not JSON. No JSON text has the value undefined.
 */
export function parseJson(text: string): unknown {
  // Streams may have many events without data, and errors are slow to create.
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value if it is a JSON object. */
export function asObject(value: unknown): JsonObject | undefined {
  return isObject(value) ? value : undefined;
}

/** The value if it is an array, else an empty one. */
export function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The objects in an array; other elements are left out. */
export function objectsIn(value: unknown): readonly JsonObject[] {
  return asArray(value).filter(isObject);
}

/** The value if it is a string. */
export function asString(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** The value if it is a finite number. */
export function asNumber(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** The value if it is a non-negative integer. */
export function asCount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/**
 * Serialises a value as JSON that every parser accepts. A truncated text may end in half a
 * surrogate pair, which is not a character, and providers refuse a body that contains one. It
 * becomes U+FFFD.
 */
export function toWellFormedJson(value: object): string {
  const text = JSON.stringify(value);
  return loneSurrogate.test(text) ? JSON.stringify(value, replaceLoneSurrogates) : text;
}

/**
 * JSON.stringify escapes only surrogates that stand alone. A text that spells out such an escape is
 * left unchanged.
 */
const loneSurrogate = /\\ud[89a-f][\da-f]{2}/;

function replaceLoneSurrogates(_key: string, value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  const members = Object.entries(asObject(value) ?? {});
  if (members.every(([key]) => key.isWellFormed())) return value;
  return Object.fromEntries(members.map(([key, member]) => [key.toWellFormed(), member]));
}
