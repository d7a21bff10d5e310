import { homedir } from 'node:os';
import { join } from 'node:path';

/**
 * Where downloaded programs are kept between runs. Root's home is closed to the user that Postgres runs as, so root
 * keeps them in the machine's cache.
 */
export function cacheFolder(env: NodeJS.ProcessEnv = process.env, isRoot = process.getuid?.() === 0): string {
  const caches = env.XDG_CACHE_HOME || (isRoot ? '/var/cache' : join(homedir(), '.cache'));
  return join(caches, 'model-gateway', 'programs');
}
