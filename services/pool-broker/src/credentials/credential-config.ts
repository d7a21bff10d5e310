import { readFileSync } from 'node:fs';
import { ConfigError, type Environment, EnvReader, type Proxies, readProxies } from '@gateway/config';
import { type AccountKey, parseAccountKeys } from './encryption.ts';

/** How credentials are kept and refreshed, wherever the broker runs. */
export interface CredentialConfig {
  /** ACCOUNT_KEYS or ACCOUNT_KEYS_FILE (none): what credentials are encrypted with, the key for new ones first. */
  readonly keys: readonly AccountKey[];
  /** OAUTH_REFRESH_AHEAD_SECONDS (300): how long before its end an access token is replaced; a quarter of its life at most. */
  readonly refreshAheadMs: number;
  /** OAUTH_TIMEOUT_SECONDS (15): how long a token endpoint may take. */
  readonly requestTimeoutMs: number;
  /** ACCOUNT_POLL_SECONDS (5): how often the accounts in the database are looked at. */
  readonly pollMs: number;
  /** To token endpoints. */
  readonly proxies: Proxies;
}

/** Throws ConfigError with every problem. */
export function readCredentialConfig(env: Environment): CredentialConfig {
  const reader = new EnvReader(env);
  const config: CredentialConfig = {
    keys: readKeys(reader),
    refreshAheadMs: reader.integer('OAUTH_REFRESH_AHEAD_SECONDS', 300, { min: 1, max: 86_400 }) * 1_000,
    requestTimeoutMs: reader.integer('OAUTH_TIMEOUT_SECONDS', 15, { min: 1, max: 30 }) * 1_000,
    pollMs: reader.integer('ACCOUNT_POLL_SECONDS', 5, { min: 1, max: 3_600 }) * 1_000,
    proxies: readProxies(reader),
  };
  reader.done();
  return config;
}

/** @throws ConfigError without a key. */
export function readRequiredKeys(env: Environment): readonly AccountKey[] {
  const reader = new EnvReader(env);
  const keys = readKeys(reader);
  reader.done();
  if (keys.length === 0) throw new ConfigError([noKeys]);
  return keys;
}

const noKeys =
  'ACCOUNT_KEYS is not set. Credentials in the database are encrypted with it. Make one, and give the same to every broker: ACCOUNT_KEYS=k1:$(openssl rand -base64 32)';

function readKeys(reader: EnvReader): readonly AccountKey[] {
  const text = reader.optional('ACCOUNT_KEYS');
  const path = reader.optional('ACCOUNT_KEYS_FILE');
  if (text !== undefined && path !== undefined) reader.problem('Set ACCOUNT_KEYS or ACCOUNT_KEYS_FILE, not both.');
  if (text !== undefined) return checkedKeys(reader, 'ACCOUNT_KEYS', text);
  if (path === undefined) return [];
  try {
    return checkedKeys(reader, 'ACCOUNT_KEYS_FILE', readFileSync(path, 'utf8'));
  } catch (thrown) {
    const reason = thrown instanceof Error && 'code' in thrown ? ` (${String(thrown.code)})` : '';
    reader.problem(`ACCOUNT_KEYS_FILE: the file can't be read${reason}.`);
    return [];
  }
}

function checkedKeys(reader: EnvReader, name: string, text: string): readonly AccountKey[] {
  const keys = parseAccountKeys(text);
  if (keys !== undefined) return keys;
  // The value is a secret: it is not repeated.
  reader.problem(
    `${name} must hold one or more keys written id:secret with commas between them, each with an id of its own and 32 bytes in base64 or hex. For example: k1:$(openssl rand -base64 32)`,
  );
  return [];
}
