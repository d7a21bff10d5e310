import { type AdapterConfig, readAdapterConfig } from '@gateway/adapter-kit';
import type { Environment } from '@gateway/config';

/** The settings of this adapter: those that every adapter has. */
export type ResponsesAdapterConfig = AdapterConfig;

/** Throws ConfigError with every problem found. */
export function readResponsesAdapterConfig(env: Environment): ResponsesAdapterConfig {
  return readAdapterConfig(env);
}
