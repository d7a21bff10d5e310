import { type Environment, EnvReader } from '@gateway/config';
import { type RedisSettings, redisSettings } from '@gateway/redis';

/** What a service makes of such a REDIS_URL, and settings beside it. */
export function redisAt(url: string, env: Environment = {}): RedisSettings {
  const reader = new EnvReader({ ...env, REDIS_URL: url });
  const settings = redisSettings.required(reader, '');
  reader.done();
  return settings;
}
