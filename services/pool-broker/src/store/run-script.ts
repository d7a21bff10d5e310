import type { Redis } from 'ioredis';
import type { RedisScript } from './redis-scripts.ts';

/** Runs a script by its digest. A Redis that does not know it, because it was restarted or replaced, learns it. */
export async function runScript(
  redis: Redis,
  { sha1, lua }: RedisScript,
  keys: readonly string[],
  parameters: readonly (string | number)[],
): Promise<unknown> {
  try {
    return await redis.evalsha(sha1, keys.length, ...keys, ...parameters);
  } catch (thrown) {
    // Nothing of it has run, so that it is not done twice.
    if (!(thrown instanceof Error) || !thrown.message.startsWith('NOSCRIPT')) throw thrown;
    return await redis.eval(lua, keys.length, ...keys, ...parameters);
  }
}
