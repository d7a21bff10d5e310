export { connectTimeoutMs, onReconnected, openRedis, type RedisOptions } from './open-redis.ts';
export { type RedisOperation, redisOperations, runScript, scriptOf, within } from './operations.ts';
export { type RedisSettings, redisSettings } from './redis-settings.ts';
