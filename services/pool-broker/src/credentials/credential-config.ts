import { createSecretKey, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { ConfigError, type Environment, EnvReader, type Proxies, readProxies } from '@gateway/config';

/** How credentials are kept and refreshed, wherever the broker runs. */
export interface CredentialConfig {
  /** ACCOUNT_KEYS or ACCOUNT_KEYS_FILE (none): what credentials are encrypted with, the key for new ones first. */
  readonly keys: readonly AccountKey[];
  readonly settings: RefreshSettings;
}

export interface RefreshSettings {
  /** OAUTH_REFRESH_AHEAD_SECONDS (300): how long before its end an access token is replaced; a quarter of its life at most. */
  readonly refreshAheadMs: number;
  /** OAUTH_TIMEOUT_SECONDS (15): how long a token endpoint may take. */
  readonly requestTimeoutMs: number;
  /** ACCOUNT_POLL_SECONDS (5): how often the accounts in the database are looked at. */
  readonly pollMs: number;
  /** To token endpoints. */
  readonly proxies: Proxies;
}

/** A key that credentials are encrypted with. It lives apart from the database, so that a leaked table is of no use. */
export interface AccountKey {
  /** Stored beside everything that it encrypted. */
  readonly id: string;
  readonly key: KeyObject;
}

/** Throws ConfigError with every problem. */
export function readCredentialConfig(env: Environment): CredentialConfig {
  const reader = new EnvReader(env);
  const config: CredentialConfig = {
    keys: readKeys(reader),
    settings: {
      refreshAheadMs: reader.integer('OAUTH_REFRESH_AHEAD_SECONDS', 300, { min: 1, max: 86_400 }) * 1_000,
      requestTimeoutMs: reader.integer('OAUTH_TIMEOUT_SECONDS', 15, { min: 1, max: 30 }) * 1_000,
      pollMs: reader.integer('ACCOUNT_POLL_SECONDS', 5, { min: 1, max: 3_600 }) * 1_000,
      proxies: readProxies(reader),
    },
  };
  reader.done();
  return Object.freeze(config);
}

/** @throws ConfigError without a key. */
export function readRequiredKeys(env: Environment): readonly AccountKey[] {
  const reader = new EnvReader(env);
  const keys = readKeys(reader);
  reader.done();
  if (keys.length === 0) throw new ConfigError([noKeys]);
  return keys;
}

/**
 * Keys written `id:base64` (or hex) with commas or line ends between them, the one for new credentials first; undefined when
 * one of them is not 32 bytes or an id comes twice.
 */
export function parseAccountKeys(text: string): readonly AccountKey[] | undefined {
  const parts = text.split(/[,\n]/).map((part) => part.trim());
  const keys = parts.filter((part) => part !== '').map(toAccountKey);
  const known = keys.filter((key) => key !== undefined);
  const isGood = known.length === keys.length && new Set(known.map(({ id }) => id)).size === keys.length;
  return isGood ? known : undefined;
}

const noKeys =
  'ACCOUNT_KEYS is not set. Credentials in the database are encrypted with it. Make one, and give the same to every broker: ACCOUNT_KEYS=k1:$(openssl rand -base64 32)';

function readKeys(reader: EnvReader): readonly AccountKey[] {
  const text = reader.optional('ACCOUNT_KEYS');
  const path = reader.optional('ACCOUNT_KEYS_FILE');
  if (text !== undefined && path !== undefined) reader.problem('Set ACCOUNT_KEYS or ACCOUNT_KEYS_FILE, not both.');
  if (text !== undefined) return checkedKeys(reader, 'ACCOUNT_KEYS', text);
  return path === undefined ? [] : checkedKeys(reader, 'ACCOUNT_KEYS_FILE', readText(reader, path));
}

function checkedKeys(reader: EnvReader, name: string, text: string): readonly AccountKey[] {
  const keys = parseAccountKeys(text);
  // The value is a secret: it is not repeated.
  if (keys === undefined) {
    reader.problem(
      `${name} must hold one or more keys written id:secret with commas between them, each with an id of its own and 32 bytes in base64 or hex. For example: k1:$(openssl rand -base64 32)`,
    );
  }
  return keys ?? [];
}

function readText(reader: EnvReader, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (thrown) {
    const reason = thrown instanceof Error && 'code' in thrown ? ` (${String(thrown.code)})` : '';
    reader.problem(`ACCOUNT_KEYS_FILE: the file can't be read${reason}.`);
    return '';
  }
}

function toAccountKey(part: string): AccountKey | undefined {
  const [, id, secret] = /^([A-Za-z0-9_-]{1,32}):(\S+)$/.exec(part) ?? [];
  if (id === undefined || secret === undefined) return undefined;
  const bytes = bytesOf(secret);
  return bytes.length === keyBytes ? { id, key: createSecretKey(bytes) } : undefined;
}

// AES-256.
const keyBytes = 32;

function bytesOf(secret: string): Buffer {
  if (/^[0-9a-f]{64}$/i.test(secret)) return Buffer.from(secret, 'hex');
  return /^[0-9a-z+/_-]+={0,2}$/i.test(secret) ? Buffer.from(secret, 'base64') : Buffer.alloc(0);
}
