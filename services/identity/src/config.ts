import { checkNotOfDevelopment, type Environment, type EnvReader, readSettings } from '@gateway/config';
import { databaseUrl } from '@gateway/database/database-url';
import { type HashKey, parseHashKeys } from './hashing/hash-key.ts';

/** Settings that identity needs in every composition. */
export interface IdentityConfig {
  /** TOKEN_HASH_KEY (none): keys for the stored token hashes, the current one first. */
  readonly hashKeys: readonly HashKey[];
  /** Absent: the defaults. */
  readonly sessions?: SessionLimits;
  /** Absent: people issue no tokens. */
  readonly personTokens?: PersonTokenRules;
}

/** What people may do with tokens of their own. */
export interface PersonTokenRules {
  readonly mayIssue: boolean;
  readonly maxDays: number;
}

/** How long people stay signed in at their client. */
export interface SessionLimits {
  readonly accessTokenMs: number;
  /** A session ends after this time without a refresh. */
  readonly idleMs: number;
  /** A session ends after this time, refreshed or not. */
  readonly maxMs: number;
}

/**
 * Without TOKEN_HASH_KEY there are no keys: a composition that embeds identity supplies its own.
 */
export function readIdentityConfig(env: Environment): IdentityConfig {
  return readSettings(env, (reader) => ({
    hashKeys: readHashKeys(reader, reader.string('TOKEN_HASH_KEY', '')),
    sessions: readSessionLimits(reader),
    personTokens: readPersonTokens(reader),
  }));
}

/** Settings that identity needs as a process of its own. */
export function readIdentityProcessConfig(env: Environment) {
  const howToMake = 'Tokens are hashed with it. Create one with: openssl rand -base64 32.';
  return readSettings(env, (reader) => ({
    sessions: readSessionLimits(reader),
    personTokens: readPersonTokens(reader),
    hashKeys: readHashKeys(reader, reader.required('TOKEN_HASH_KEY', howToMake, '<32 random bytes in base64>')),
    // DATABASE_URL (required): the Postgres with the tokens.
    databaseUrl: databaseUrl.required(reader, 'The database stores tokens.'),
    // MIGRATE_AT_START (false): run missing migrations before serving.
    migrateAtStart: reader.boolean('MIGRATE_AT_START', false),
  }));
}

export const defaultSessionLimits: SessionLimits = {
  accessTokenMs: 3_600_000,
  idleMs: 14 * 86_400_000,
  maxMs: 30 * 86_400_000,
};

export const noPersonTokens: PersonTokenRules = { mayIssue: false, maxDays: 30 };

function readPersonTokens(reader: EnvReader): PersonTokenRules {
  return {
    // PEOPLE_MAY_ISSUE_TOKENS (false): people issue personal tokens for themselves in the console.
    mayIssue: reader.boolean('PEOPLE_MAY_ISSUE_TOKENS', false),
    // PEOPLE_TOKEN_MAX_DAYS (30): such a token expires after this time at the latest.
    maxDays: reader.integer('PEOPLE_TOKEN_MAX_DAYS', 30, { min: 1, max: 365 }),
  };
}

function readSessionLimits(reader: EnvReader): SessionLimits {
  return {
    // SIGN_IN_ACCESS_TOKEN_MINUTES (60): clients refresh an access token before it is this old.
    accessTokenMs: reader.integer('SIGN_IN_ACCESS_TOKEN_MINUTES', 60, { min: 15, max: 1_440 }) * 60_000,
    // SIGN_IN_IDLE_DAYS (14): people sign in again if their client was not used for this long.
    idleMs: reader.integer('SIGN_IN_IDLE_DAYS', 14, { min: 1, max: 90 }) * 86_400_000,
    // SIGN_IN_MAX_DAYS (30): people sign in again after this time in any case.
    maxMs: reader.integer('SIGN_IN_MAX_DAYS', 30, { min: 1, max: 365 }) * 86_400_000,
  };
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
