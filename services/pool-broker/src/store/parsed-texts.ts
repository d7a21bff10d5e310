/**
 * Remembers what the text of a key was read as, for as long as the text is the same: health is asked for with every request,
 * and changes seldom.
 */
export class ParsedTexts<T> {
  readonly #parse: (text: string | null) => T;
  readonly #latest = new Map<string, { readonly text: string | null; readonly value: T }>();

  constructor(parse: (text: string | null) => T) {
    this.#parse = parse;
  }

  read(key: string, text: string | null): T {
    const known = this.#latest.get(key);
    if (known !== undefined && known.text === text) return known.value;
    const value = this.#parse(text);
    // Keys are those of configured accounts and pools; what was removed from the configuration must not add up.
    if (this.#latest.size >= maxKeys) this.#latest.clear();
    this.#latest.set(key, { text, value });
    return value;
  }
}

const maxKeys = 10_000;
