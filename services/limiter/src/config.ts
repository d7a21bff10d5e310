import { type Environment, EnvReader } from '@gateway/config';
import { type RedisSettings, redisSettings } from '@gateway/redis/redis-settings';

const failureModes = ['local', 'closed'] as const;

export interface LimiterConfig {
  /**
   * LIMITER_FAILURE_MODE (local): while Redis is away, `local` decides from an exact window in each limiter;
   * `closed` fails with internal_error.
   */
  readonly failureMode: (typeof failureModes)[number];
  /** LIMITER_LOCAL_MAX_SECONDS (300): how long one outage may be bridged by local windows before it fails as `closed`. */
  readonly localMaxMs: number;
  /**
   * LIMITER_REPLICAS (1): among how many limiters the requests per minute are divided at least while Redis is away. Limiters count
   * each other by heartbeats in Redis; this helps where more may start during an outage.
   */
  readonly leastReplicas: number;
  /** LIMITER_REDIS_TIMEOUT_MS (100): how long a call to Redis may take, its one repetition included. */
  readonly redisTimeoutMs: number;
  /**
   * LIMITER_MEMORY_MAX_KEYS (100000): keys kept in memory; beyond it the least recently used begin anew. Also how many
   * admissions of the last minute, and how many settles, are kept for an outage of Redis.
   */
  readonly memoryMaxKeys: number;
  /** LIMITER_RECONCILE_SECONDS (10): how often the total of a day in use is reloaded from the usage ledger. */
  readonly reconcileEveryMs: number;
}

/** What a limiter of its own, apart from the one in the all-in-one process, needs besides. */
export interface StandAloneLimiterConfig extends LimiterConfig {
  /** REDIS_URL (required) and what belongs to it: where windows and day counters live. */
  readonly redis: RedisSettings;
  /** USAGE_QUERY_URL: where day totals are loaded from when Redis does not have them; without it they start at zero. */
  readonly usageQueryUrl: string | undefined;
}

export function readLimiterConfig(env: Environment): LimiterConfig {
  const reader = new EnvReader(env);
  const config = readSettings(reader);
  reader.done();
  return Object.freeze(config);
}

/** @throws ConfigError that names every variable to set. */
export function readStandAloneLimiterConfig(env: Environment): StandAloneLimiterConfig {
  const reader = new EnvReader(env);
  const config: StandAloneLimiterConfig = {
    ...readSettings(reader),
    redis: redisSettings.required(reader, 'Limits are counted there.'),
    usageQueryUrl: reader.optionalPeerUrl('USAGE_QUERY_URL', 'http://127.0.0.1:50056'),
  };
  reader.done();
  return Object.freeze(config);
}

function readSettings(reader: EnvReader): LimiterConfig {
  return {
    failureMode: reader.oneOf('LIMITER_FAILURE_MODE', failureModes, 'local'),
    localMaxMs: reader.integer('LIMITER_LOCAL_MAX_SECONDS', 300, { max: 86_400 }) * 1_000,
    leastReplicas: reader.integer('LIMITER_REPLICAS', 1, { min: 1, max: 1_000 }),
    redisTimeoutMs: reader.integer('LIMITER_REDIS_TIMEOUT_MS', 100, { min: 10, max: 10_000 }),
    memoryMaxKeys: reader.integer('LIMITER_MEMORY_MAX_KEYS', 100_000, { min: 1, max: 10_000_000 }),
    reconcileEveryMs: reader.integer('LIMITER_RECONCILE_SECONDS', 10, { min: 1, max: 3_600 }) * 1_000,
  };
}
