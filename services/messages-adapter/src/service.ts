import {
  type AdapterConfig,
  type AdapterPeers,
  createAdapterFromEnvironment,
  createAdapterService,
} from '@gateway/adapter-kit';
import type { Service, ServiceRuntime } from '@gateway/lifecycle';
import { messagesFormat } from './format/provider-format.ts';
import { routes } from './routes.ts';

/** The adapter of pools whose provider speaks the Messages format. */
export function createMessagesAdapterService(
  config: AdapterConfig,
  peers: AdapterPeers,
  runtime: ServiceRuntime,
): Service {
  return createAdapterService({ format: messagesFormat, routes, config, peers, runtime });
}

/** The same as a process of its own, which finds the pool broker by POOL_BROKER_URL. */
export const createMessagesAdapterFromEnvironment = createAdapterFromEnvironment(createMessagesAdapterService);
