import { GatewayError } from '@gateway/errors';
import { isObject, type JsonObject } from '@gateway/json';

/**
 * Reads one field of an object that a client sent. `path` is the object's own, "" at the top, so that an error can name the
 * field. A field that is null counts as absent.
 */
export function optionalField<T>(object: JsonObject, name: string, path: string, kind: Kind<T>): T | undefined {
  const value = object[name];
  if (value === undefined || value === null) return undefined;
  if (kind.holds(value)) return value;
  throw invalidField(fieldPath(path, name), `must be ${kind.noun}`);
}

export function requiredField<T>(object: JsonObject, name: string, path: string, kind: Kind<T>): T {
  const value = optionalField(object, name, path, kind);
  if (value === undefined) throw invalidField(fieldPath(path, name), 'is required');
  return value;
}

/** An array's members as objects, each with its own path. */
export function objectsOf<T>(
  values: readonly unknown[],
  path: string,
  read: (object: JsonObject, path: string) => T,
): T[] {
  return values.map((value, index) => {
    const itemPath = `${path}[${index}]`;
    if (!isObject(value)) throw invalidField(itemPath, 'must be an object');
    return read(value, itemPath);
  });
}

/** `invalid_request` that names the field. `complaint` goes on the field's path: "is required". */
export function invalidField(path: string, complaint: string): GatewayError {
  return new GatewayError('invalid_request', `${path} ${complaint}`);
}

export function fieldPath(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

/** A client's text as it may stand in a message: in quotes and short. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text);
}

/** What a field may hold, with the words for it. */
export interface Kind<T> {
  readonly noun: string;
  holds(value: unknown): value is T;
}

export const anObject: Kind<JsonObject> = { noun: 'an object', holds: isObject };
export const anArray: Kind<readonly unknown[]> = { noun: 'an array', holds: (value) => Array.isArray(value) };
export const aString: Kind<string> = { noun: 'a string', holds: (value) => typeof value === 'string' };
export const aNonEmptyString: Kind<string> = {
  noun: 'a string that is not empty',
  holds: (value): value is string => typeof value === 'string' && value !== '',
};
export const aBoolean: Kind<boolean> = { noun: 'true or false', holds: (value) => typeof value === 'boolean' };
export const aNumber: Kind<number> = { noun: 'a number', holds: (value) => typeof value === 'number' };
export const aPositiveInteger: Kind<number> = {
  noun: 'a positive integer',
  holds: (value): value is number => Number.isSafeInteger(value) && Number(value) > 0,
};

export function oneOf<T extends string>(allowed: readonly T[]): Kind<T> {
  return {
    noun: `one of ${allowed.join(', ')}`,
    holds: (value): value is T => allowed.some((text) => text === value),
  };
}
