export { ConfigError } from './config-error.ts';
export type { Environment } from './env-reader.ts';
export { EnvReader } from './env-reader.ts';
