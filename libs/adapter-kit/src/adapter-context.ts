import type { ServiceRuntime } from '@gateway/lifecycle';
import type { CredentialService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { Client } from '@gateway/rpc';
import type { Logger } from '@gateway/telemetry';
import type { Clock } from '@gateway/time';
import type { AdapterConfig } from './adapter-config.ts';
import { AdapterMetrics } from './adapter-metrics.ts';
import { CredentialCache } from './credentials/credential-cache.ts';
import type { ProviderFormat } from './provider-format.ts';
import { CallHeaders } from './upstream/call-headers.ts';
import { UpstreamClient } from './upstream/upstream-client.ts';

export interface AdapterContextOptions {
  readonly format: ProviderFormat;
  readonly config: AdapterConfig;
  readonly credentials: Client<typeof CredentialService>;
  readonly runtime: ServiceRuntime;
  readonly clock: Clock;
}

/** What an adapter's handlers work with. Disposing it closes every connection to providers. */
export interface AdapterContext extends AsyncDisposable {
  readonly format: ProviderFormat;
  readonly config: AdapterConfig;
  readonly credentials: CredentialCache;
  readonly upstream: UpstreamClient;
  readonly headers: CallHeaders;
  readonly metrics: AdapterMetrics;
  readonly logger: Logger;
  readonly clock: Clock;
}

export function createAdapterContext({
  format,
  config,
  credentials,
  runtime,
  clock,
}: AdapterContextOptions): AdapterContext {
  const metrics = new AdapterMetrics(runtime.metrics, format.id);
  const upstream = new UpstreamClient(config.connectTimeoutMs, metrics);
  return {
    format,
    config,
    credentials: new CredentialCache(credentials, clock),
    upstream,
    headers: new CallHeaders(format.headers),
    metrics,
    logger: runtime.logger,
    clock,
    [Symbol.asyncDispose]: () => upstream[Symbol.asyncDispose](),
  };
}
