export { type AccountInput, readAccount } from './account-input.ts';
export { type BackendSetting, backendServers, backendText, type ServerAddress, unreachableText } from './backends.ts';
export { accountSourceOf, defaultGatewayConfig, simulatedGatewayConfig } from './default-gateway.ts';
export { checkNotOfDevelopment, isDevelopmentSecret, readAllowsDevelopmentSecrets } from './development-secrets.ts';
export { fullDiskText, isDiskFull, withDiskRoom } from './disk-room.ts';
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
export { pathText } from './env-references.ts';
export { checkGatewayText, type GatewayText } from './gateway-check.ts';
export type * from './gateway-config.ts';
export { followGatewayFile, loadGatewayFile, parseGatewayFile } from './gateway-file.ts';
export { gatewayJsonSchema, poolFormats } from './gateway-schema.ts';
export { parseYaml } from './gateway-yaml.ts';
export { answeringInTime, makePrivateDatabase, makePrivateFile, narrowMode, openFolder } from './open-folder.ts';
export { Secret } from './secret.ts';
export { type SettingRead, settingsPath, settingsRead } from './settings-read.ts';
export { isTokenUrl } from './token-url.ts';
export { checkListeners, isLoopback, type Proxies, readProxies, readTlsFiles } from './transport-settings.ts';
export { networkOf, readTrustedProxies, TrustedProxies } from './trusted-proxies.ts';
export { changesBetween, type WrittenGateway } from './written-gateway.ts';
