import type { ServerSentEvent } from '../target/streamed-answer.ts';
import { Violation } from '../verdict.ts';

/**
 * A value of a gateway's JSON, with its path. An unexpected value is a violation that names the
 * path.
 */
export class Found {
  readonly value: unknown;
  readonly #place: string;

  constructor(value: unknown, place: string) {
    this.value = value;
    this.#place = place;
  }

  at(...path: readonly (string | number)[]): Found {
    return path.reduce<Found>((found, key) => found.#child(key), this);
  }

  get isThere(): boolean {
    return this.value !== undefined && this.value !== null;
  }

  get string(): string {
    if (typeof this.value !== 'string') throw this.not('a string');
    return this.value;
  }

  /** A string that is not empty. */
  get name(): string {
    if (this.string === '') throw this.not('a string with something in it');
    return this.string;
  }

  /** The text; undefined for null and for a missing field. */
  get textOrNone(): string {
    return this.isThere ? this.string : '';
  }

  /** An integer that counts something. */
  get count(): number {
    if (typeof this.value !== 'number' || !Number.isSafeInteger(this.value) || this.value < 0)
      throw this.not('an integer of 0 or more');
    return this.value;
  }

  get countOrNone(): number | undefined {
    return this.isThere ? this.count : undefined;
  }

  get list(): readonly Found[] {
    if (!Array.isArray(this.value)) throw this.not('an array');
    return this.value.map((_, index) => this.#child(index));
  }

  /** The entries; none for null and for a missing field. */
  get listOrNone(): readonly Found[] {
    return this.isThere ? this.list : [];
  }

  get object(): Readonly<Record<string, unknown>> {
    if (!isObject(this.value)) throw this.not('an object');
    return this.value;
  }

  /** @throws Violation unless it is one of them. */
  is(...allowed: readonly (string | number | boolean | null)[]): void {
    if (!allowed.some((one) => one === this.value))
      throw this.not(allowed.map((one) => JSON.stringify(one)).join(' or '));
  }

  /** The violation that this is not the expected value. */
  not(expected: string): Violation {
    return new Violation(`${this.#place} should be ${expected}; it is ${shown(this.value)}`);
  }

  #child(key: string | number): Found {
    const value: unknown = isObject(this.value) || Array.isArray(this.value) ? Reflect.get(this.value, key) : undefined;
    return new Found(value, typeof key === 'number' ? `${this.#place}[${key}]` : `${this.#place}.${key}`);
  }
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The JSON of events, each named by its number in the stream. */
export function foundIn(events: readonly ServerSentEvent[], what: string): readonly Found[] {
  return events.map((event, index) => new Found(event.json(), `${what} ${index + 1}`));
}

/** The kind of each, from its member `type`. */
export function typesOf(found: readonly Found[]): readonly string[] {
  return found.map((one) => one.at('type').name);
}

export function ofType(found: readonly Found[], type: string): readonly Found[] {
  return found.filter((one) => one.at('type').value === type);
}

/** Short enough for one line of a report. */
export function shown(value: unknown): string {
  if (value === undefined) return 'not there';
  const text = JSON.stringify(value);
  return text.length > 160 ? `${text.slice(0, 160)}… (${text.length} characters)` : text;
}
