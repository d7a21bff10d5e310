import type { ServiceRuntime } from '@gateway/lifecycle';
import type { CredentialService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { Client } from '@gateway/rpc';
import type { AdapterConfig } from './adapter-config.ts';
import { CredentialCache } from './credentials/credential-cache.ts';
import type { FormatDefinition } from './format-definition.ts';
import { adapterMetrics } from './metrics.ts';
import { TranslationPool } from './translation/translation-pool.ts';
import { UpstreamClient } from './upstream/upstream-client.ts';

/**
 * The parts that an adapter's handlers use. Disposal closes every connection to providers and ends
 * the threads.
 */
export type AdapterContext = ReturnType<typeof createAdapterContext>;

export function createAdapterContext(options: {
  readonly format: FormatDefinition;
  readonly config: AdapterConfig;
  readonly runtime: ServiceRuntime;
  readonly credentials: Client<typeof CredentialService>;
}) {
  const { format, config, runtime, credentials } = options;
  const metrics = adapterMetrics(runtime.metrics, format.id);
  const owned = new AsyncDisposableStack();
  const { translationWorkers: workers, translationMaxBytes: maxBytes } = config;
  const module = workers === 0 ? undefined : format.translationWorker;
  return {
    ...{ format, config, metrics, logger: runtime.logger },
    credentials: new CredentialCache(credentials),
    upstream: owned.use(new UpstreamClient(config, metrics)),
    /** Undefined when large requests are translated on the event loop. */
    translations: module && owned.use(new TranslationPool({ module, workers, maxBytes })),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
