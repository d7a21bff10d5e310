import {
  ConfigError,
  defaultGatewayConfig,
  type Environment,
  EnvReader,
  type GatewayConfig,
  loadGatewayFile,
} from '@gateway/config';

/** What a broker needs to know, wherever it runs. */
export interface PoolBrokerConfig {
  /** GATEWAY_CONFIG: path of gateway.yaml. Default: both providers, with OPENAI_API_KEY and ANTHROPIC_API_KEY as accounts. */
  readonly gateway: GatewayConfig;
}

/** What a broker with a process of its own needs besides. */
export interface StandAloneConfig extends PoolBrokerConfig {
  /** REDIS_URL: required; replicas share what they know of accounts there. */
  readonly redisUrl: string;
  /** REDIS_COMMAND_TIMEOUT_MS (100): how long a call waits for Redis before it goes by the memory of this process. */
  readonly redisCommandTimeoutMs: number;
}

export const defaultRedisCommandTimeoutMs = 100;

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
  const gateway = readGateway(env, reader);
  reader.done();
  if (gateway === undefined) throw new ConfigError(['gateway.yaml could not be read.']);
  return Object.freeze({ gateway, redisUrl, redisCommandTimeoutMs });
}

/** The gateway that the environment names, with or without accounts. Throws ConfigError with every problem of the file. */
export function readGatewayConfig(env: Environment): GatewayConfig {
  const path = new EnvReader(env).optional('GATEWAY_CONFIG');
  return path === undefined ? defaultGatewayConfig(env) : loadGatewayFile(path, env);
}

/** Problems go to the reader, to be reported with the others; then there is no gateway. */
function readGateway(env: Environment, reader: EnvReader): GatewayConfig | undefined {
  try {
    const gateway = readGatewayConfig(env);
    if (gateway.accounts.length === 0) reader.problem(noAccount);
    return gateway;
  } catch (thrown) {
    if (!(thrown instanceof ConfigError)) throw thrown;
    for (const problem of thrown.problems) reader.problem(problem);
    return undefined;
  }
}

const noAccount =
  'There is no provider account. Set OPENAI_API_KEY or ANTHROPIC_API_KEY, or list accounts in a gateway.yaml and set GATEWAY_CONFIG to its path. For example: GATEWAY_CONFIG=./gateway.yaml';
