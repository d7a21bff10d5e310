export { connectTimeoutMs, onReconnected, openRedis, type RedisOptions } from './open-redis.ts';
export { type RedisOperation, redisOperations } from './operations.ts';
export { type RedisSettings, redisSettings } from './redis-settings.ts';
export { runScript, type Script, scriptOf } from './run-script.ts';
export { RedisTimeoutError, within } from './within.ts';
