export { type BackendSetting, backendServers, backendText, type ServerAddress, unreachableText } from './backends.ts';
export { defaultGatewayConfig, simulatedGatewayConfig } from './default-gateway.ts';
export {
  ConfigError,
  checkAll,
  checkPorts,
  type Environment,
  EnvReader,
  readDrainTimeoutSeconds,
  readMaxStreamSeconds,
  readSettings,
} from './env-reader.ts';
export type * from './gateway-config.ts';
export { loadGatewayFile } from './gateway-file.ts';
export { gatewayJsonSchema, isTokenUrl } from './gateway-schema.ts';
export { answeringInTime, makePrivateDatabase, makePrivateFile, narrowMode, openFolder } from './open-folder.ts';
export { type Proxies, readProxies } from './proxies.ts';
export { Secret } from './secret.ts';
export { checkListeners, readTlsFiles } from './transport-settings.ts';
