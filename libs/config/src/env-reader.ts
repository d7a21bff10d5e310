import { ConfigError } from './config-error.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

interface Bounds {
  readonly min?: number;
  readonly max?: number;
}

/**
 * Reads settings from the environment. Problems are collected, so that a person mends all of them at once:
 * read everything, then call `done()`. An empty variable counts as absent.
 */
export class EnvReader {
  readonly #env: Environment;
  readonly #problems: string[] = [];

  constructor(env: Environment) {
    this.#env = env;
  }

  /** A text, or undefined when not set. */
  optional(name: string): string | undefined {
    const text = this.#env[name]?.trim();
    return text === '' ? undefined : text;
  }

  string(name: string, fallback: string): string {
    return this.optional(name) ?? fallback;
  }

  /** A text that the service can't do without. */
  required(name: string, why: string, example: string): string {
    const text = this.optional(name);
    if (text === undefined) this.problem(`${name} is not set. ${why} For example: ${name}=${example}`);
    return text ?? '';
  }

  /** A URL that the service can't do without, with one of the schemes. */
  requiredUrl(name: string, why: string, example: string, schemes: readonly string[] = ['http']): string {
    const text = this.required(name, why, example);
    return text === '' ? text : this.#checkedUrl(name, text, example, schemes);
  }

  optionalUrl(name: string, example: string, schemes: readonly string[] = ['http']): string | undefined {
    const text = this.optional(name);
    return text === undefined ? undefined : this.#checkedUrl(name, text, example, schemes);
  }

  /** One or several URLs with commas between them, that the service can't do without. */
  requiredUrls(name: string, why: string, example: string, schemes: readonly string[]): readonly string[] {
    const text = this.required(name, why, example);
    return text === '' ? [] : this.#checkedUrls(name, text, example, schemes);
  }

  optionalUrls(name: string, example: string, schemes: readonly string[]): readonly string[] | undefined {
    const text = this.optional(name);
    return text === undefined ? undefined : this.#checkedUrls(name, text, example, schemes);
  }

  integer(name: string, fallback: number, { min = 0, max = Number.MAX_SAFE_INTEGER }: Bounds = {}): number {
    const text = this.optional(name);
    if (text === undefined) return fallback;
    const value = Number(text);
    if (Number.isInteger(value) && value >= min && value <= max) return value;
    this.problem(`${name} must be a whole number from ${min} to ${max}, not "${text}". Default: ${fallback}`);
    return fallback;
  }

  port(name: string, fallback: number): number {
    return this.integer(name, fallback, { min: 0, max: 65_535 });
  }

  boolean(name: string, fallback: boolean): boolean {
    const text = this.optional(name)?.toLowerCase();
    if (text === undefined) return fallback;
    if (['true', '1', 'yes', 'on'].includes(text)) return true;
    if (['false', '0', 'no', 'off'].includes(text)) return false;
    this.problem(`${name} must be true or false, not "${text}". Default: ${fallback}`);
    return fallback;
  }

  oneOf<T extends string>(name: string, allowed: readonly T[], fallback: T): T {
    const text = this.optional(name);
    if (text === undefined) return fallback;
    const found = allowed.find((value) => value === text);
    if (found === undefined) this.problem(`${name} must be one of ${allowed.join(', ')}, not "${text}".`);
    return found ?? fallback;
  }

  /** Notes a problem that only the caller can see. */
  problem(text: string): void {
    this.#problems.push(text);
  }

  /** Throws ConfigError with every problem found. Call it once, after the last read. */
  done(): void {
    if (this.#problems.length > 0) throw new ConfigError(this.#problems);
  }

  #checkedUrl(name: string, text: string, example: string, schemes: readonly string[]): string {
    if (!isUrl(text, schemes)) {
      // The value may hold a password: it is not repeated.
      this.problem(`${name} is not a URL that starts with ${startsOf(schemes)}. For example: ${name}=${example}`);
    }
    return text.replace(/\/+$/, '');
  }

  #checkedUrls(name: string, text: string, example: string, schemes: readonly string[]): readonly string[] {
    const urls = text.split(',').map((url) => url.trim());
    const wrong = urls.flatMap((url, index) => (isUrl(url, schemes) ? [] : [index + 1]));
    if (wrong.length > 0) {
      const which = urls.length === 1 ? 'is not a URL' : `has no URL at position ${wrong.join(', ')}: each must be one`;
      this.problem(`${name} ${which} that starts with ${startsOf(schemes)}. For example: ${name}=${example}`);
    }
    return urls.map((url) => url.replace(/\/+$/, ''));
  }
}

function isUrl(text: string, schemes: readonly string[]): boolean {
  return URL.canParse(text) && schemes.includes(new URL(text).protocol.slice(0, -1));
}

function startsOf(schemes: readonly string[]): string {
  return schemes.map((scheme) => `${scheme}://`).join(' or ');
}
