import type { ServiceRuntime } from '@gateway/lifecycle';
import type { CredentialService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { Client } from '@gateway/rpc';
import type { Logger } from '@gateway/telemetry';
import type { Clock } from '@gateway/time';
import type { AdapterConfig } from './adapter-config.ts';
import { AdapterMetrics } from './adapter-metrics.ts';
import { CredentialCache } from './credentials/credential-cache.ts';
import type { ProviderFormat } from './provider-format.ts';
import { TranslationPool } from './translation/translation-pool.ts';
import { UpstreamClient } from './upstream/upstream-client.ts';

export interface AdapterContextOptions {
  readonly format: ProviderFormat;
  readonly config: AdapterConfig;
  readonly credentials: Client<typeof CredentialService>;
  readonly runtime: ServiceRuntime;
  readonly clock: Clock;
}

/** What an adapter's handlers work with. Disposing it closes every connection to providers, and ends its threads. */
export interface AdapterContext extends Pick<AdapterContextOptions, 'format' | 'config' | 'clock'>, AsyncDisposable {
  readonly credentials: CredentialCache;
  readonly upstream: UpstreamClient;
  readonly translations: TranslationPool;
  readonly metrics: AdapterMetrics;
  readonly logger: Logger;
}

export function createAdapterContext({ runtime, credentials, ...shared }: AdapterContextOptions): AdapterContext {
  const { format, config, clock } = shared;
  const metrics = new AdapterMetrics(runtime.metrics, format.id);
  const owned = new AsyncDisposableStack();
  return {
    ...shared,
    credentials: new CredentialCache(credentials, clock),
    upstream: owned.use(new UpstreamClient(config, metrics)),
    translations: owned.use(
      new TranslationPool({ workers: config.translationWorkers, maxBytes: config.translationMaxBytes }),
    ),
    metrics,
    logger: runtime.logger,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
