import {
  ConfigError,
  defaultGatewayConfig,
  type Environment,
  EnvReader,
  type GatewayConfig,
  loadGatewayFile,
} from '@gateway/config';
import { type CredentialConfig, readCredentialConfig } from './credentials/credential-config.ts';
import { defaultRedisCommandTimeoutMs } from './store/pool-store.ts';

/** What a broker needs to know, wherever it runs. */
export interface PoolBrokerConfig {
  /** GATEWAY_CONFIG: path of gateway.yaml. Default: both providers, with OPENAI_API_KEY and ANTHROPIC_API_KEY as accounts. */
  readonly gateway: GatewayConfig;
  /** Default: the defaults of its settings, and no key. */
  readonly credentials?: CredentialConfig;
}

/** What a broker with a process of its own needs besides. */
export interface StandAloneConfig extends PoolBrokerConfig {
  /** REDIS_URL: required; replicas share what they know of accounts there. */
  readonly redisUrl: string;
  /** REDIS_COMMAND_TIMEOUT_MS (100): how long a call waits for Redis before it goes by the memory of this process. */
  readonly redisCommandTimeoutMs: number;
  /** DATABASE_URL (none): Postgres with the accounts that operators manage and the tokens that are refreshed. */
  readonly databaseUrl: string | undefined;
  readonly credentials: CredentialConfig;
}

/** Throws ConfigError with every problem, "no account" among them. */
export function readPoolBrokerConfig(env: Environment): StandAloneConfig {
  const reader = new EnvReader(env);
  const redisUrl = reader.requiredUrl(
    'REDIS_URL',
    'What is known of accounts is kept there, for all replicas.',
    'redis://127.0.0.1:6379',
    ['redis', 'rediss'],
  );
  const redisCommandTimeoutMs = reader.integer('REDIS_COMMAND_TIMEOUT_MS', defaultRedisCommandTimeoutMs, {
    min: 1,
    max: 1_000,
  });
  const databaseUrl = reader.optionalUrl('DATABASE_URL', 'postgres://127.0.0.1:5432/gateway', [
    'postgres',
    'postgresql',
  ]);
  const credentials = reporting(reader, () => readCredentialConfig(env));
  const gateway = reporting(reader, () => readGatewayConfig(env));
  // With a database they may be there, or come there while the broker runs.
  if (gateway?.accounts.length === 0 && databaseUrl === undefined) reader.problem(noAccount);
  reader.done();
  if (gateway === undefined || credentials === undefined) throw new ConfigError(['gateway.yaml could not be read.']);
  return Object.freeze({ gateway, redisUrl, redisCommandTimeoutMs, databaseUrl, credentials });
}

/** The gateway that the environment names, with or without accounts. Throws ConfigError with every problem of the file. */
export function readGatewayConfig(env: Environment): GatewayConfig {
  const path = new EnvReader(env).optional('GATEWAY_CONFIG');
  return path === undefined ? defaultGatewayConfig(env) : loadGatewayFile(path, env);
}

/** Problems go to the reader, to be reported with the others; then there is nothing. */
function reporting<T>(reader: EnvReader, read: () => T): T | undefined {
  try {
    return read();
  } catch (thrown) {
    if (!(thrown instanceof ConfigError)) throw thrown;
    for (const problem of thrown.problems) reader.problem(problem);
    return undefined;
  }
}

const noAccount =
  'There is no provider account. Set OPENAI_API_KEY or ANTHROPIC_API_KEY, or list accounts in a gateway.yaml and set GATEWAY_CONFIG to its path. For example: GATEWAY_CONFIG=./gateway.yaml. Or set DATABASE_URL, and add accounts with gatewayctl account add.';
