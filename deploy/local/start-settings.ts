import { type Environment, EnvReader } from '@gateway/config';

export interface StartSettings {
  /** PORT (8080): the public HTTP port. */
  readonly port: number;
  /** DATABASE_URL is set: its tokens are the operator's business. */
  readonly isDatabaseShared: boolean;
  /** TOKEN_HASH_KEY: needed with DATABASE_URL; else a random one. */
  readonly tokenHashKey: string | undefined;
  /** GATEWAY_DATA: where the edge keeps its outbox. Default: ./data with DATABASE_URL, else a temporary folder. */
  readonly dataFolder: string | undefined;
  /** DRAIN_TIMEOUT_SECONDS (10): how long running requests may go on after Ctrl-C. */
  readonly drainTimeoutSeconds: number;
}

/** @throws ConfigError with every problem found. */
export function readStartSettings(env: Environment): StartSettings {
  const reader = new EnvReader(env);
  const isDatabaseShared = reader.optional('DATABASE_URL') !== undefined;
  const settings: StartSettings = {
    port: reader.port('PORT', 8080),
    isDatabaseShared,
    tokenHashKey: isDatabaseShared
      ? reader.required(
          'TOKEN_HASH_KEY',
          'Token hashes in the database of DATABASE_URL are made with it.',
          '$(openssl rand -base64 32)',
        )
      : reader.optional('TOKEN_HASH_KEY'),
    dataFolder: reader.optional('GATEWAY_DATA') ?? (isDatabaseShared ? './data' : undefined),
    drainTimeoutSeconds: reader.integer('DRAIN_TIMEOUT_SECONDS', 10, { max: 86_400 }),
  };
  reader.done();
  return settings;
}
