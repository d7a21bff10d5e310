import { type Environment, settingOf } from './env-reader.ts';

/**
 * Replaces `${NAME}` in every text of a parsed file: by the variable, or the file that `NAME_FILE` names. An empty one counts as not
 * set. What is wrong is given by the path of the value that it is about, and never repeats a value of the environment.
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

/** The `${NAME}`s in a parsed file as they are written: nothing is looked up. */
export function referencesIn(value: unknown) {
  const names = new Set<string>();
  /** Paths of the values that hold one. */
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

/** A place in a file as people write it: `accounts[1].credential.bearer`, `pools.a.models["gpt-5.5*"].efforts`. */
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

const notWritten = `a reference is written \${NAME}, with the name of an environment variable`;

/** Undefined: it is not written as a reference is. */
function nameIn(written: string): string | undefined {
  const name = written.slice(2, -1);
  return written.endsWith('}') && /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? name : undefined;
}

function settingNamed(name: string, env: Environment): { readonly value: string } | { readonly problem: string } {
  try {
    const value = settingOf(env, name);
    return value === undefined ? { problem: `the environment variable ${name} is not set` } : { value };
  } catch (thrown) {
    // What the system says of the file names its path.
    const cause: unknown = thrown instanceof Error ? thrown.cause : undefined;
    if (cause instanceof Error && 'code' in cause) {
      return { problem: `the file that ${name}_FILE names can't be read (${String(cause.code)})` };
    }
    return { problem: thrown instanceof Error ? thrown.message : `${name} can't be read` };
  }
}
