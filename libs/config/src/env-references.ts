import { type Environment, settingOf } from './env-reader.ts';

/**
 * Replaces `${NAME}` in every text of a parsed file: by the variable, or the file that `NAME_FILE` names. An empty one counts as not
 * set. What is wrong is given by the path of the value that it is about.
 */
export function resolveEnvReferences(value: unknown, env: Environment) {
  const problems = new Map<string, string>();
  const resolve = (value: unknown, path: readonly PropertyKey[]): unknown => {
    if (typeof value === 'string') return resolveText(value, pathText(path), env, problems);
    if (Array.isArray(value)) return value.map((part, index) => resolve(part, [...path, index]));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, resolve(part, [...path, key])]));
  };
  return { value: resolve(value, []), problems };
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
