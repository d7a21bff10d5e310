import type { EnvReader } from '@gateway/config';
import type { ClientConfig } from 'pg';
import { parse, toClientConfig } from 'pg-connection-string';

/** DATABASE_URL in libpq's format: several hosts separated by commas, and parameters for TLS. */
export const databaseUrl = {
  required: (reader: EnvReader, why: string): string => checked(reader, reader.required(name, why, example)),
  optional(reader: EnvReader): string | undefined {
    const text = reader.optional(name);
    return text && checked(reader, text);
  },
};

export type PostgresAddress = Readonly<ReturnType<typeof parseDatabaseUrl>>;

/**
 * How to reach the servers of a URL, in its order, and whether the server must accept writes.
 * @throws Error that says what is wrong, without user and password.
 */
export function parseDatabaseUrl(url: string) {
  const parts = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)/.exec(url);
  if (parts === null) throw new Error('is not a URL that starts with postgres:// or postgresql://');
  const [whole, scheme = '', hosts = ''] = parts;
  const rest = url.slice(whole.length);
  const each = hosts.split(',').map((host) => `${scheme}${host}${rest}`);
  const wrong = each.findIndex((text) => !URL.canParse(text));
  if (wrong >= 0) throw new Error(`has no host at position ${wrong + 1}: each must be <name> or <name>:<port>`);
  const parameters = new URL(each[0] ?? '').searchParams;
  for (const [parameter, values] of Object.entries(allowed)) {
    const value = parameters.get(parameter);
    if (value !== null && !values.includes(value)) {
      throw new Error(`has the ${parameter} "${value}": it must be one of ${values.join(', ')}`);
    }
  }
  // With several hosts, a read-only server is never intended.
  const attributes = parameters.get('target_session_attrs') ?? (each.length > 1 ? 'read-write' : 'any');
  return { hosts: each.map(toConfig), mustWrite: attributes !== 'any' };
}

const name = 'DATABASE_URL';
const example = 'postgres://user:password@127.0.0.1:5432/gateway';

/**
 * The subset of libpq's values that make sense here: the gateway writes, and never sends a password
 * over TLS that is merely preferred.
 */
const allowed: Readonly<Record<string, readonly string[]>> = {
  sslmode: ['disable', 'require', 'verify-ca', 'verify-full'],
  target_session_attrs: ['any', 'read-write', 'primary'],
};

/** Reads the files that the parameters name. */
function toConfig(url: string): ClientConfig {
  const { target_session_attrs: _, ...config } = parse(url, { useLibpqCompat: true });
  return toClientConfig(config);
}

function checked(reader: EnvReader, url: string): string {
  try {
    if (url !== '') parseDatabaseUrl(url);
  } catch (thrown) {
    const problem = thrown instanceof Error ? thrown.message : String(thrown);
    reader.problem(
      `${name} ${/^(is|has) /.test(problem) ? problem : `cannot be used: ${problem}`}. For example: ${name}=${example}`,
    );
  }
  return url;
}
