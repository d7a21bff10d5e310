import {
  ConfigError,
  checkNotOfDevelopment,
  defaultGatewayConfig,
  type Environment,
  EnvReader,
  type GatewayConfig,
  loadGatewayFile,
  readProxies,
  readSettings,
} from '@gateway/config';
import { type EncryptionKey, parseEncryptionKeys } from '@gateway/config/encryption';
import { databaseUrl } from '@gateway/database/database-url';
import { redisSettings } from '@gateway/redis/redis-settings';

/** Settings that a broker needs in every composition. */
export interface PoolBrokerConfig {
  readonly gateway: GatewayConfig;
  /** How credentials are stored and refreshed. Default: the default settings without a key. */
  readonly credentials?: ReturnType<typeof readCredentialConfig>;
}

/** Throws ConfigError with every problem, including "no account". */
export function readPoolBrokerConfig(env: Environment) {
  return readSettings(env, (reader) => {
    const redis = redisSettings.required(reader, 'Redis shares the state of accounts between replicas.');
    const url = databaseUrl.optional(reader);
    const credentials = credentialConfigOf(reader);
    const gateway = gatewayOf(reader, env, url !== undefined);
    return { gateway, redis, databaseUrl: url, credentials };
  });
}

/**
 * The gateway configuration that the environment names, with or without accounts. Throws
 * ConfigError with every problem of the file.
 */
export function readGatewayConfig(env: Environment): GatewayConfig {
  const path = new EnvReader(env).optional('GATEWAY_CONFIG');
  return path === undefined ? defaultGatewayConfig(env) : loadGatewayFile(path, env);
}

/** Throws ConfigError with every problem. */
export function readCredentialConfig(env: Environment) {
  return readSettings(env, credentialConfigOf);
}

/** @throws ConfigError without a key, which says `whenMissing`. */
export function readRequiredKeys(env: Environment, whenMissing = noKeys): readonly EncryptionKey[] {
  const { keys } = readSettings(env, (reader) => ({ keys: keysOf(reader) }));
  if (keys.length === 0) throw new ConfigError([whenMissing]);
  return keys;
}

/** Problems of the file are added to the reader, to be reported with the others. */
function gatewayOf(reader: EnvReader, env: Environment, hasDatabase: boolean): GatewayConfig {
  try {
    const gateway = readGatewayConfig(env);
    // With a database, accounts may be stored there or be added while the broker runs.
    if (gateway.accounts.length === 0 && !hasDatabase) reader.problem(noAccount);
    return gateway;
  } catch (thrown) {
    if (!(thrown instanceof ConfigError)) throw thrown;
    for (const problem of thrown.problems) reader.problem(problem);
    return defaultGatewayConfig({});
  }
}

function credentialConfigOf(reader: EnvReader) {
  return {
    /** The keys that encrypt credentials, the one for new credentials first. */
    keys: keysOf(reader),
    /**
     * How long before its expiry an access token is replaced, but at most a quarter of its
     * lifetime.
     */
    refreshAheadMs: reader.integer('OAUTH_REFRESH_AHEAD_SECONDS', 300, { min: 1, max: 86_400 }) * 1_000,
    requestTimeoutMs: reader.integer('OAUTH_TIMEOUT_SECONDS', 15, { min: 1, max: 30 }) * 1_000,
    pollMs: reader.integer('ACCOUNT_POLL_SECONDS', 5, { min: 1, max: 3_600 }) * 1_000,
    proxies: readProxies(reader),
  };
}

function keysOf(reader: EnvReader): readonly EncryptionKey[] {
  const text = reader.optional('ACCOUNT_KEYS');
  if (text === undefined) return [];
  checkNotOfDevelopment(reader, 'ACCOUNT_KEYS', text, 'Create one with: openssl rand -base64 32.');
  const keys = parseEncryptionKeys(text);
  // The value is a secret, so it is not repeated.
  if (keys === undefined) reader.problem(`ACCOUNT_KEYS ${badKeys}`);
  return keys ?? [];
}

const noAccount =
  'No provider account is configured. Set OPENAI_API_KEY or ANTHROPIC_API_KEY, or list accounts in a gateway.yaml and set GATEWAY_CONFIG to its path. For example: GATEWAY_CONFIG=./gateway.yaml. Or set DATABASE_URL, and add accounts with gatewayctl account add.';

export const noKeys =
  'ACCOUNT_KEYS is not set. It encrypts credentials in the database. Create a key, and give the same one to every broker: ACCOUNT_KEYS=k1:$(openssl rand -base64 32)';

const badKeys =
  'must contain one or more keys in the form id:secret, separated by commas, each with a unique id and 32 bytes in base64 or hex. For example: k1:$(openssl rand -base64 32)';
