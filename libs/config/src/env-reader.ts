import { readFileSync } from 'node:fs';
import { noteSetting } from './settings-read.ts';

/** Settings that are not usable: every problem found, with the setting's name and what to do. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}

export type Environment = Readonly<Record<string, string | undefined>>;

interface Bounds {
  readonly min?: number;
  readonly max?: number;
}

/**
 * Reads settings from the environment. It collects problems so that a person can fix all of them at
 * once: read everything, then call `done()`. An empty variable counts as absent. The value of
 * `NAME` may also come from the file that `NAME_FILE` names, which is how platforms mount secrets.
 */
export class EnvReader {
  readonly #env: Environment;
  readonly #problems: string[] = [];

  constructor(env: Environment) {
    this.#env = env;
  }

  /** A string, or undefined when it is not set. */
  optional(name: string): string | undefined {
    try {
      const text = settingOf(this.#env, name);
      const given = this.#env[`${name}_FILE`]?.trim() ? 'file' : 'environment';
      noteSetting(name, text ?? '', text === undefined ? 'default' : given);
      return text;
    } catch (thrown) {
      this.problem(thrown instanceof Error ? thrown.message : String(thrown));
      return undefined;
    }
  }

  string(name: string, fallback: string): string {
    return this.optional(name) ?? this.#default(name, fallback);
  }

  /** A string without which the service can't start. */
  required(name: string, why: string, example: string): string {
    const text = this.optional(name);
    const isNamed = text !== undefined || Boolean(this.#env[`${name}_FILE`]?.trim());
    if (!isNamed) this.problem(`${name} is not set. ${why} For example: ${name}=${example}`);
    return text ?? '';
  }

  /**
   * The address of another service of the gateway that this one requires. `example`: with `http`.
   */
  peerUrl(name: string, why: string, example: string): string {
    this.required(name, why, example.replace('http', this.#peerScheme));
    return this.optionalPeerUrl(name, example) ?? '';
  }

  optionalPeerUrl(name: string, example: string): string | undefined {
    const scheme = this.#peerScheme;
    const text = this.optionalUrl(name, example.replace('http', scheme));
    if (text !== undefined && !text.startsWith(`${scheme}:`)) {
      const reason = `TLS_CERT_FILE is ${scheme === 'https' ? '' : 'not '}set`;
      this.problem(`${name} must start with ${scheme}://, because ${reason}. Either all services use TLS, or none.`);
    }
    return text;
  }

  optionalUrl(name: string, example: string, schemes: readonly string[] = ['http', 'https']): string | undefined {
    const text = this.optional(name);
    return text && this.#checkedUrls(name, [text], example, schemes)[0];
  }

  /** One or several URLs, separated by commas, without which the service can't start. */
  requiredUrls(name: string, why: string, example: string, schemes: readonly string[]): readonly string[] {
    this.required(name, why, example);
    return this.optionalUrls(name, example, schemes) ?? [];
  }

  optionalUrls(name: string, example: string, schemes: readonly string[]): readonly string[] | undefined {
    const texts = this.optional(name)?.split(',');
    return texts === undefined ? undefined : this.#checkedUrls(name, texts, example, schemes);
  }

  integer(name: string, fallback: number, { min = 0, max = Number.MAX_SAFE_INTEGER }: Bounds = {}): number {
    const text = this.optional(name);
    if (text === undefined) return this.#default(name, fallback);
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
    if (text === undefined) return this.#default(name, fallback);
    if (['true', '1', 'yes', 'on'].includes(text)) return true;
    if (['false', '0', 'no', 'off'].includes(text)) return false;
    this.problem(`${name} must be true or false, not "${text}". Default: ${fallback}`);
    return fallback;
  }

  oneOf<T extends string>(name: string, allowed: readonly T[], fallback: T): T {
    const text = this.optional(name);
    if (text === undefined) return this.#default(name, fallback);
    const found = allowed.find((value) => value === text);
    if (found === undefined) this.problem(`${name} must be one of ${allowed.join(', ')}, not "${text}".`);
    return found ?? fallback;
  }

  /** Adds a problem that only the caller can detect. */
  problem(text: string): void {
    if (!this.#problems.includes(text)) this.#problems.push(text);
  }

  /** Throws ConfigError with every problem found. Call it once, after the last read. */
  done(): void {
    if (this.#problems.length > 0) throw new ConfigError(this.#problems);
  }

  #default<T extends string | number | boolean>(name: string, fallback: T): T {
    noteSetting(name, String(fallback), 'default');
    return fallback;
  }

  get #peerScheme(): string {
    return this.optional('TLS_CERT_FILE') === undefined ? 'http' : 'https';
  }

  #checkedUrls(name: string, texts: readonly string[], example: string, schemes: readonly string[]) {
    const urls = texts.map((text) => text.trim().replace(/(?<!\/)\/+$/, ''));
    const wrong = urls.flatMap((url, index) => (isUrl(url, schemes) ? [] : [index + 1]));
    if (wrong.length > 0) {
      // The value may contain a password, so it is not repeated.
      const which = urls.length === 1 ? 'is not a URL' : `has no URL at position ${wrong.join(', ')}: each must be one`;
      const starts = schemes.map((scheme) => `${scheme}://`).join(' or ');
      this.problem(`${name} ${which} that starts with ${starts}. For example: ${name}=${example}`);
    }
    return urls;
  }
}

/**
 * The value of a variable, or of the file that `<name>_FILE` names. Undefined when neither is set.
 * @throws an Error with a readable message when both are set, or the file can't be read.
 */
export function settingOf(env: Environment, name: string): string | undefined {
  const text = env[name]?.trim() || undefined;
  const file = env[`${name}_FILE`]?.trim() || undefined;
  if (file === undefined) return text;
  if (text !== undefined) throw new Error(`${name} and ${name}_FILE are both set. Set one of them.`);
  try {
    return readFileSync(file, 'utf8').trim() || undefined;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`${name}_FILE can't be read: ${why}`, { cause });
  }
}

function isUrl(text: string, schemes: readonly string[]): boolean {
  return URL.canParse(text) && schemes.includes(new URL(text).protocol.slice(0, -1));
}

/**
 * Reads settings with `read` and freezes the result.
 * @throws one ConfigError with every problem found.
 */
export function readSettings<T>(env: Environment, read: (reader: EnvReader) => T): Readonly<T> {
  const reader = new EnvReader(env);
  const settings = read(reader);
  reader.done();
  return Object.freeze(settings);
}

/**
 * Runs all checks.
 * @throws one ConfigError with the problems of all, each once, so that a person can fix them in one
 *   go.
 */
export async function checkAll(checks: readonly (() => unknown)[]): Promise<void> {
  const problems = new Set<string>();
  const ended = await Promise.allSettled(checks.map(async (check) => check()));
  for (const check of ended) {
    if (check.status === 'fulfilled') continue;
    if (!(check.reason instanceof ConfigError)) throw check.reason;
    for (const problem of check.reason.problems) problems.add(problem);
  }
  if (problems.size > 0) throw new ConfigError([...problems]);
}

/**
 * Checks that these settings, given with their defaults, name different ports; 0 stands for any
 * free port.
 * @throws ConfigError
 */
export function checkPorts(env: Environment, defaults: Readonly<Record<string, number>>): void {
  readSettings(env, (reader) => {
    const taken = new Map<number, string>();
    for (const [name, fallback] of Object.entries(defaults)) {
      const port = reader.port(name, fallback);
      const other = port === 0 ? undefined : taken.get(port);
      if (other !== undefined) reader.problem(`${other} and ${name} are both ${port}. Set different ports.`);
      taken.set(port, name);
    }
  });
}

/**
 * MAX_STREAM_SECONDS (3600): the longest duration of an answer. The edge, which ends the answer,
 * and adapters, which stop their requests, must have the same value.
 */
export function readMaxStreamSeconds(reader: EnvReader): number {
  return reader.integer('MAX_STREAM_SECONDS', 3_600, { min: 1, max: 86_400 });
}

/**
 * DRAIN_TIMEOUT_SECONDS: how long running work may take to finish after SIGTERM. Default: the
 * longest allowed stream.
 */
export function readDrainTimeoutSeconds(reader: EnvReader): number {
  return reader.integer('DRAIN_TIMEOUT_SECONDS', readMaxStreamSeconds(reader), { max: 86_400 });
}
