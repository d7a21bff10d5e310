import { type Environment, type EnvReader, readSettings } from '@gateway/config';
import { redisSettings } from '@gateway/redis/redis-settings';

/** What every limiter needs. */
export type LimiterConfig = ReturnType<typeof readLimiterConfig>;

/** What a limiter of its own, apart from the one in the all-in-one process, needs besides. */
export type StandAloneLimiterConfig = ReturnType<typeof readStandAloneLimiterConfig>;

export function readLimiterConfig(env: Environment) {
  return readSettings(env, limiterSettings);
}

/** @throws ConfigError that names every variable to set. */
export function readStandAloneLimiterConfig(env: Environment) {
  return readSettings(env, (reader) => ({
    ...limiterSettings(reader),
    // REDIS_URL (required) and what belongs to it: where windows and day counters live.
    redis: redisSettings.required(reader, 'Limits are counted there.'),
    // USAGE_QUERY_URL: where day totals are loaded from when Redis does not have them; without it they start at zero.
    usageQueryUrl: reader.optionalPeerUrl('USAGE_QUERY_URL', 'http://127.0.0.1:50056'),
  }));
}

function limiterSettings(reader: EnvReader) {
  return {
    // While Redis is away, `local` decides from an exact window in each limiter; `closed` fails with internal_error.
    failureMode: reader.oneOf('LIMITER_FAILURE_MODE', ['local', 'closed'], 'local'),
    // How long one outage may be bridged by local windows before it fails as `closed`.
    localMaxMs: reader.integer('LIMITER_LOCAL_MAX_SECONDS', 300, { max: 86_400 }) * 1_000,
    // Among how many limiters the requests per minute are divided at least while Redis is away. Limiters count each other by
    // heartbeats in Redis; this helps where more may start during an outage.
    leastReplicas: reader.integer('LIMITER_REPLICAS', 1, { min: 1, max: 1_000 }),
    // How long a call to Redis may take, its one repetition included.
    redisTimeoutMs: reader.integer('LIMITER_REDIS_TIMEOUT_MS', 100, { min: 10, max: 10_000 }),
    // Keys kept in memory; beyond it the least recently used begin anew. Also how many admissions of the last minute, and how
    // many settles, are kept for an outage of Redis.
    memoryMaxKeys: reader.integer('LIMITER_MEMORY_MAX_KEYS', 100_000, { min: 1, max: 10_000_000 }),
    // How often the total of a day in use is reloaded from the usage ledger.
    reconcileEveryMs: reader.integer('LIMITER_RECONCILE_SECONDS', 10, { min: 1, max: 3_600 }) * 1_000,
  };
}
