import { GatewayError } from '@gateway/errors';
import { isObject, type JsonObject } from '@gateway/json';

/** The type that a field may have, with its name for error messages. */
export interface Kind<T> {
  readonly noun: string;
  holds(value: unknown): value is T;
}

/**
 * Reads the fields of an object that a client sent. Errors name the path of the field. A null field
 * counts as absent.
 */
export class Fields {
  readonly members: JsonObject;
  /** The object's own path; "" at the top. */
  readonly path: string;

  constructor(members: JsonObject, path = '') {
    this.members = members;
    this.path = path;
  }

  optional<T>(name: string, kind: Kind<T>): T | undefined {
    const value = this.members[name];
    if (value === undefined || value === null) return undefined;
    if (kind.holds(value)) return value;
    throw this.invalid(name, `must be ${kind.noun}`);
  }

  required<T>(name: string, kind: Kind<T>): T {
    const value = this.optional(name, kind);
    if (value === undefined) throw this.invalid(name, 'is required');
    return value;
  }

  optionalObject(name: string): Fields | undefined {
    const members = this.optional(name, anObject);
    return members && new Fields(members, this.pathOf(name));
  }

  requiredObject(name: string): Fields {
    return new Fields(this.required(name, anObject), this.pathOf(name));
  }

  /** Applies `read` to each object of an array; undefined when the field is absent. */
  optionalEach<T>(name: string, read: (item: Fields) => T, kind = anArray): readonly T[] | undefined {
    return this.optional(name, kind)?.map((value, index) => {
      const path = `${this.pathOf(name)}[${index}]`;
      if (!isObject(value)) throw invalidField(path, 'must be an object');
      return read(new Fields(value, path));
    });
  }

  /**
   * Creates an `invalid_request` error for the field. `complaint` follows the field's path: "is
   * required".
   */
  invalid(name: string, complaint: string): GatewayError {
    return invalidField(this.pathOf(name), complaint);
  }

  pathOf(name: string): string {
    return this.path === '' ? name : `${this.path}.${name}`;
  }
}

export function invalidField(path: string, complaint: string): GatewayError {
  return new GatewayError('invalid_request', `${path} ${complaint}`);
}

const anObject: Kind<JsonObject> = { noun: 'an object', holds: isObject };
export const anArray: Kind<readonly unknown[]> = { noun: 'an array', holds: (value) => Array.isArray(value) };
export const aString: Kind<string> = { noun: 'a string', holds: (value) => typeof value === 'string' };
export const aNonEmptyString: Kind<string> = {
  noun: 'a non-empty string',
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
