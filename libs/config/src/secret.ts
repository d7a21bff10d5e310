import { inspect } from 'node:util';

/**
 * A string that must not be shown. Printing, serialising or inspecting it gives "[redacted]"; only
 * `reveal()` returns it.
 */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** Returns the string, for the one place that sends it. */
  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return '[redacted]';
  }

  toJSON(): string {
    return '[redacted]';
  }

  [inspect.custom](): string {
    return '[redacted]';
  }
}
