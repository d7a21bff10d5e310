import { type Environment, EnvReader } from '@gateway/config';
import { type IdentityConfig, readIdentityConfig } from '@gateway/identity/config';
import { DataFolder } from './data-folder.ts';

/** The keys of the stored token hashes: TOKEN_HASH_KEY, else the one kept beside the embedded database. */
export async function readIdentityKeys(env: Environment): Promise<IdentityConfig> {
  checkIdentityKeys(env);
  if (new EnvReader(env).optional('TOKEN_HASH_KEY') !== undefined) return readIdentityConfig(env);
  const data = await DataFolder.open(env);
  return readIdentityConfig({ TOKEN_HASH_KEY: await data.tokenHashKey() });
}

/** A shared database needs the variable, since every process on it must have the same key. @throws ConfigError */
export function checkIdentityKeys(env: Environment): void {
  const reader = new EnvReader(env);
  if (reader.optional('DATABASE_URL') !== undefined) {
    reader.required(
      'TOKEN_HASH_KEY',
      'Token hashes in the database of DATABASE_URL are made with it.',
      '$(openssl rand -base64 32)',
    );
  }
  reader.done();
  readIdentityConfig(env);
}
