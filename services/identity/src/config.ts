import { type Environment, EnvReader } from '@gateway/config';
import { type HashKey, parseHashKeys } from './hashing/hash-key.ts';

/** What identity needs wherever it runs. */
export interface IdentityConfig {
  /** TOKEN_HASH_KEY (none): keys of the stored token hashes, current one first. */
  readonly hashKeys: readonly HashKey[];
}

/** What it needs besides when it runs as a process of its own. */
export interface IdentityProcessConfig extends IdentityConfig {
  /** DATABASE_URL (required): the Postgres with the tokens. */
  readonly databaseUrl: string;
  /** MIGRATE_AT_START (false): bring the tables up to date before serving. */
  readonly migrateAtStart: boolean;
}

/** Without TOKEN_HASH_KEY there are no keys: the composition that embeds identity brings its own. */
export function readIdentityConfig(env: Environment): IdentityConfig {
  const reader = new EnvReader(env);
  const hashKeys = readHashKeys(reader, reader.optional('TOKEN_HASH_KEY') ?? '');
  reader.done();
  return Object.freeze({ hashKeys });
}

export function readIdentityProcessConfig(env: Environment): IdentityProcessConfig {
  const reader = new EnvReader(env);
  const keys = reader.required(
    'TOKEN_HASH_KEY',
    'Token hashes are made with it; make one with: openssl rand -base64 32.',
    '<32 random bytes in base64>',
  );
  const config: IdentityProcessConfig = {
    hashKeys: readHashKeys(reader, keys),
    databaseUrl: reader.requiredUrl('DATABASE_URL', 'Tokens live there.', 'postgres://127.0.0.1:5432/gateway', [
      'postgres',
      'postgresql',
    ]),
    migrateAtStart: reader.boolean('MIGRATE_AT_START', false),
  };
  reader.done();
  return Object.freeze(config);
}

function readHashKeys(reader: EnvReader, text: string): readonly HashKey[] {
  const keys = parseHashKeys(text);
  if (keys !== undefined) return keys;
  // The value is a secret: it is not repeated.
  reader.problem(
    'TOKEN_HASH_KEY must be one or more keys with a comma between them, each at least 32 bytes in base64 or hex. Make one with: openssl rand -base64 32',
  );
  return [];
}
