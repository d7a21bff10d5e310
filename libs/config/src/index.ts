export { type BackendSetting, backendServers, backendSettings, backendText, unreachableText } from './backends.ts';
export { checkAll } from './check-all.ts';
export { checkPorts } from './check-ports.ts';
export { ConfigError } from './config-error.ts';
export { defaultGatewayConfig, simulatedGatewayConfig } from './default-gateway.ts';
export type { Environment } from './env-reader.ts';
export { EnvReader } from './env-reader.ts';
export type {
  AccountConfig,
  CandidateConfig,
  ClassConfig,
  Credential,
  Effort,
  GatewayConfig,
  GatewaySource,
  LeastThinking,
  ModelEffort,
  ModelTraits,
  ModelTraitsConfig,
  OAuthCredential,
  PoolConfig,
  PoolFormat,
  PoolSettings,
  StaticCredential,
  ThinkingMode,
} from './gateway-config.ts';
export { loadGatewayFile } from './gateway-file.ts';
export { gatewayJsonSchema } from './gateway-schema.ts';
export type { ServerAddress } from './hosts-of.ts';
export { isTokenUrl } from './oauth-credential-schema.ts';
export { answeringInTime, openFolder } from './open-folder.ts';
export { makePrivateDatabase, makePrivateFile, narrowMode } from './private-file.ts';
export { Secret } from './secret.ts';
export { readDrainTimeoutSeconds, readMaxStreamSeconds } from './stream-settings.ts';
