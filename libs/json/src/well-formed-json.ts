import { asObject } from './json-value.ts';

/**
 * A value as JSON text that every parser takes. Half of a surrogate pair, which a truncated text ends in, is no
 * character, and providers refuse a body that has one: it becomes U+FFFD.
 */
export function toWellFormedJson(value: object): string {
  const text = JSON.stringify(value);
  return loneSurrogate.test(text) ? JSON.stringify(value, replaceLoneSurrogates) : text;
}

/** JSON.stringify escapes surrogates only when they stand alone. A text that spells such an escape is left as it is. */
const loneSurrogate = /\\ud[89a-f][\da-f]{2}/;

function replaceLoneSurrogates(_key: string, value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  const members = Object.entries(asObject(value) ?? {});
  if (members.every(([key]) => key.isWellFormed())) return value;
  return Object.fromEntries(members.map(([key, member]) => [key.toWellFormed(), member]));
}
