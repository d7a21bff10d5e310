import { inspect } from 'node:util';

/** A text that must not be seen. Printing, serialising or inspecting it shows "[redacted]"; only `reveal()` gives it. */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** The text itself, for the one place that sends it. */
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
