import { type AdapterConfig, readAdapterConfig } from '@gateway/adapter-kit';
import type { Environment } from '@gateway/config';

/** The settings of this adapter: those that every adapter has. */
export type MessagesAdapterConfig = AdapterConfig;

/** Throws ConfigError with every problem found. */
export function readMessagesAdapterConfig(env: Environment): MessagesAdapterConfig {
  return readAdapterConfig(env);
}
