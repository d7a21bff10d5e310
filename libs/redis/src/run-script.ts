import { createHash } from 'node:crypto';
import type { Cluster, Redis } from 'ioredis';

export type Script = ReturnType<typeof scriptOf>;

export function scriptOf(lua: string) {
  return { lua, sha: createHash('sha1').update(lua).digest('hex') };
}

/** Runs a script that Redis, or any node of a cluster, may have forgotten at any time. In a cluster its keys have one hash tag. */
export async function runScript(
  redis: Redis | Cluster,
  { lua, sha }: Script,
  keys: readonly string[],
  terms: readonly (string | number)[],
): Promise<unknown> {
  try {
    return await redis.evalsha(sha, keys.length, ...keys, ...terms);
  } catch (thrown) {
    if (!(thrown instanceof Error && thrown.message.startsWith('NOSCRIPT'))) throw thrown;
    // Nothing was done. With its text it runs, and is known from then on.
    return redis.eval(lua, keys.length, ...keys, ...terms);
  }
}
