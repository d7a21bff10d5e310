import { checkAll, checkPorts, type Environment, EnvReader } from '@gateway/config';
import { readEdgeRouterConfig } from '@gateway/edge-router/config';
import { readLimiterConfig, readStandAloneLimiterConfig } from '@gateway/limiter/config';
import { readMessagesAdapterConfig } from '@gateway/messages-adapter/config';
import { readGatewayConfig } from '@gateway/pool-broker/config';
import { readCredentialConfig } from '@gateway/pool-broker/credentials/credential-config';
import { readResponsesAdapterConfig } from '@gateway/responses-adapter/config';
import { readUsageIngestConfig, readUsageStreamConfig } from '@gateway/usage-ingest/config';
import { readUsageQueryConfig } from '@gateway/usage-query/config';
import { readAllInOneConfig } from './config.ts';
import { DataFolder } from './data-folder.ts';
import { checkIdentityKeys } from './identity-keys.ts';

/** Every setting of every service in the process, `gateway.yaml` and the data folder. @throws ConfigError with all problems. */
export async function checkSettings(env: Environment): Promise<void> {
  const isSet = (name: string) => new EnvReader(env).optional(name) !== undefined;
  await checkAll([
    () => readAllInOneConfig(env),
    () => checkPorts(env, { PORT: 8080, ADMIN_PORT: 9090, SIMULATOR_PORT: 0 }),
    () => DataFolder.open(env),
    () => checkIdentityKeys(env),
    () => readCredentialConfig(env),
    () => (isSet('NATS_URL') ? readUsageStreamConfig(env) : readUsageIngestConfig(env)),
    () => readUsageQueryConfig(env),
    () => (isSet('REDIS_URL') ? readStandAloneLimiterConfig(env) : readLimiterConfig(env)),
    () => readResponsesAdapterConfig(env),
    () => readMessagesAdapterConfig(env),
    () => readEdgeRouterConfig(env),
    () => readGatewayConfig(env),
  ]);
}
