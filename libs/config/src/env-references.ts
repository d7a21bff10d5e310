import { type Environment, settingOf } from './env-reader.ts';

/** A value with its `${NAME}` references replaced, and what was wrong with them by path. */
export interface Resolved {
  readonly value: unknown;
  /** Problem texts by the path of the value that they are about. */
  readonly problems: ReadonlyMap<string, string>;
}

/** Replaces `${NAME}` in every text of a parsed file: by the variable, or the file that `NAME_FILE` names. An empty one counts as not set. */
export function resolveEnvReferences(value: unknown, env: Environment): Resolved {
  const problems = new Map<string, string>();
  return { value: resolve(value, [], env, problems), problems };
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

function resolve(
  value: unknown,
  path: readonly PropertyKey[],
  env: Environment,
  problems: Map<string, string>,
): unknown {
  if (typeof value === 'string') return resolveText(value, pathText(path), env, problems);
  if (Array.isArray(value)) return value.map((part, index) => resolve(part, [...path, index], env, problems));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, part]) => [key, resolve(part, [...path, key], env, problems)]),
  );
}

function resolveText(text: string, path: string, env: Environment, problems: Map<string, string>): string {
  return text.replace(/\$\{([^}]*)\}?/g, (reference, name: string) => {
    if (!reference.endsWith('}') || !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
      problems.set(path, `a reference is written \${NAME}, with the name of an environment variable`);
      return '';
    }
    try {
      const found = settingOf(env, name);
      if (found === undefined) problems.set(path, `the environment variable ${name} is not set`);
      return found ?? '';
    } catch (thrown) {
      problems.set(path, thrown instanceof Error ? thrown.message : String(thrown));
      return '';
    }
  });
}
