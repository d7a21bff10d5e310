import type { RequestListener } from 'node:http';
import type { ServiceRoute } from '@gateway/rpc';
import type { Tls } from '@gateway/rpc/grpc';
import type { Logger, Metrics } from '@gateway/telemetry';

/** What every service is given besides its configuration and its peers. */
export interface ServiceRuntime {
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** What the process proves itself with to other services. Undefined: it talks to them in the clear. */
  readonly tls?: Tls | undefined;
}

/** What every `create<Name>Service` returns. Disposing it closes what it opened, in reverse order. */
export interface Service extends AsyncDisposable {
  /** The RPCs it serves. Empty for a service that only consumes or only speaks HTTP. */
  readonly routes: readonly ServiceRoute[];
  /** Served on a port of their own, CREDENTIAL_PORT, which the network can fence off: secrets of accounts. */
  readonly credentialRoutes?: readonly ServiceRoute[];
  /** Answers what is asked for on the admin port besides health and metrics. */
  readonly adminApp?: RequestListener | undefined;
  /** Begins background work and opens listeners of its own. Called once, before it takes requests. */
  start(): Promise<void>;
  /** Why it can't take requests now; undefined when it can. Asked by the readiness probe. */
  notReady(): Promise<string | undefined>;
  /** Callers are to go elsewhere from now on; what they send meanwhile is answered. Called DRAIN_DELAY_SECONDS before `drain`. */
  announceDrain?(): void;
  /** Takes nothing new and lets running work end. Called before disposal. */
  drain?(timeoutMs: number): Promise<void>;
}
