import { type Environment, EnvReader } from '@gateway/config';
import { type RedisSettings, redisSettings } from '@gateway/redis';

/** The settings that a service derives from this REDIS_URL and related variables. */
export function redisAt(url: string, env: Environment = {}): RedisSettings {
  const reader = new EnvReader({ ...env, REDIS_URL: url });
  const settings = redisSettings.required(reader, '');
  reader.done();
  return settings;
}
