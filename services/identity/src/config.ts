import { checkNotOfDevelopment, type Environment, type EnvReader, readSettings } from '@gateway/config';
import { databaseUrl } from '@gateway/database/database-url';
import { type HashKey, parseHashKeys } from './hashing/hash-key.ts';

/** Settings that identity needs in every composition. */
export interface IdentityConfig {
  /** TOKEN_HASH_KEY (none): keys for the stored token hashes, the current one first. */
  readonly hashKeys: readonly HashKey[];
}

/**
 * Without TOKEN_HASH_KEY there are no keys: a composition that embeds identity supplies its own.
 */
export function readIdentityConfig(env: Environment): IdentityConfig {
  return readSettings(env, (reader) => ({ hashKeys: readHashKeys(reader, reader.string('TOKEN_HASH_KEY', '')) }));
}

/** Settings that identity needs as a process of its own. */
export function readIdentityProcessConfig(env: Environment) {
  const howToMake = 'Tokens are hashed with it. Create one with: openssl rand -base64 32.';
  return readSettings(env, (reader) => ({
    hashKeys: readHashKeys(reader, reader.required('TOKEN_HASH_KEY', howToMake, '<32 random bytes in base64>')),
    // DATABASE_URL (required): the Postgres with the tokens.
    databaseUrl: databaseUrl.required(reader, 'The database stores tokens.'),
    // MIGRATE_AT_START (false): run missing migrations before serving.
    migrateAtStart: reader.boolean('MIGRATE_AT_START', false),
  }));
}

function readHashKeys(reader: EnvReader, text: string): readonly HashKey[] {
  checkNotOfDevelopment(reader, 'TOKEN_HASH_KEY', text, 'Create one with: openssl rand -base64 32.');
  const keys = parseHashKeys(text);
  if (keys !== undefined) return keys;
  // The value is a secret, so it is not repeated.
  reader.problem(
    'TOKEN_HASH_KEY must be one or more keys, separated by commas, each at least 32 bytes in base64 or hex. Create one with: openssl rand -base64 32',
  );
  return [];
}
