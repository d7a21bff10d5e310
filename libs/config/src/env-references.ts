import { type Environment, settingOf } from './env-reader.ts';

/**
 * Replaces `${NAME}` in every string of a parsed file with the variable, or with the content of the
 * file that `NAME_FILE` names. An empty variable counts as not set. A problem names the path of the
 * string and never repeats a value of the environment.
 */
export function resolveEnvReferences(value: unknown, env: Environment) {
  const problems = new Map<string, string>();
  const resolved = withTexts(value, [], (text, path) =>
    text.replace(reference, (written) => {
      const name = nameIn(written);
      const found = name === undefined ? { problem: notWritten } : settingNamed(name, env);
      if ('problem' in found) problems.set(path, found.problem);
      return 'value' in found ? found.value : '';
    }),
  );
  return { value: resolved, problems };
}

/** Lists the `${NAME}` references in a parsed file without resolving them. */
export function referencesIn(value: unknown) {
  const names = new Set<string>();
  /** Paths of the strings that contain a reference. */
  const places = new Set<string>();
  const problems = new Map<string, string>();
  withTexts(value, [], (text, path) => {
    for (const [written] of text.matchAll(reference)) {
      const name = nameIn(written);
      if (name === undefined) problems.set(path, notWritten);
      else names.add(name);
      places.add(path);
    }
    return text;
  });
  return { names, places, problems };
}

/**
 * A path in the file as people write it: `accounts[1].credential.bearer`,
 * `pools.a.models["gpt-5.5*"].efforts`.
 */
export function pathText(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    const key = String(part);
    if (text === '') return key;
    return /[^A-Za-z0-9_-]/.test(key) ? `${text}[${JSON.stringify(key)}]` : `${text}.${key}`;
  }, '');
}

function withTexts(
  value: unknown,
  path: readonly PropertyKey[],
  change: (text: string, path: string) => string,
): unknown {
  if (typeof value === 'string') return change(value, pathText(path));
  if (Array.isArray(value)) return value.map((part, index) => withTexts(part, [...path, index], change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, withTexts(part, [...path, key], change)]));
}

const reference = /\$\{[^}]*\}?/g;

const notWritten = `a reference must have the form \${NAME}, with the name of an environment variable`;

/** Undefined when the text does not have the syntax of a reference. */
function nameIn(written: string): string | undefined {
  const name = written.slice(2, -1);
  return written.endsWith('}') && /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? name : undefined;
}

function settingNamed(name: string, env: Environment): { readonly value: string } | { readonly problem: string } {
  try {
    const value = settingOf(env, name);
    return value === undefined ? { problem: `the environment variable ${name} is not set` } : { value };
  } catch (thrown) {
    // The system's error message contains the path of the file.
    const cause: unknown = thrown instanceof Error ? thrown.cause : undefined;
    if (cause instanceof Error && 'code' in cause) {
      return { problem: `the file that ${name}_FILE names can't be read (${String(cause.code)})` };
    }
    return { problem: thrown instanceof Error ? thrown.message : `${name} can't be read` };
  }
}
