import { type Environment, type EnvReader, readSettings } from '@gateway/config';
import { redisSettings } from '@gateway/redis/redis-settings';

/** Settings that every limiter needs. */
export type LimiterConfig = ReturnType<typeof readLimiterConfig>;

/** Settings that a limiter as a process of its own needs in addition. */
export type StandAloneLimiterConfig = ReturnType<typeof readStandAloneLimiterConfig>;

export function readLimiterConfig(env: Environment) {
  return readSettings(env, limiterSettings);
}

/** @throws ConfigError that names every variable to set. */
export function readStandAloneLimiterConfig(env: Environment) {
  return readSettings(env, (reader) => ({
    ...limiterSettings(reader),
    // REDIS_URL (required) and related settings: where windows and day counters are stored.
    redis: redisSettings.required(reader, 'Redis counts limits.'),
    // USAGE_QUERY_URL: the service to load totals from when Redis lacks them; without it they
    // start at zero.
    usageQueryUrl: reader.optionalPeerUrl('USAGE_QUERY_URL', 'http://127.0.0.1:50056'),
  }));
}

function limiterSettings(reader: EnvReader) {
  return {
    // How many keys are kept in memory without Redis; beyond it the least recently used are reset.
    memoryMaxKeys: reader.integer('LIMITER_MEMORY_MAX_KEYS', 100_000, { min: 1, max: 10_000_000 }),
    // How often the total of a counter in use is reloaded from the usage ledger.
    reconcileEveryMs: reader.integer('LIMITER_RECONCILE_SECONDS', 10, { min: 1, max: 3_600 }) * 1_000,
  };
}
