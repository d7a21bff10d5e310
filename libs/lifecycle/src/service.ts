import type { RequestListener } from 'node:http';
import type { ServiceRoute } from '@gateway/rpc';
import type { Tls } from '@gateway/rpc/grpc';
import type { Logger, Metrics } from '@gateway/telemetry';

/** What every service receives besides its configuration and its peers. */
export interface ServiceRuntime {
  readonly logger: Logger;
  readonly metrics: Metrics;
  /**
   * The certificate of this process for calls between services. Undefined: calls are not encrypted.
   */
  readonly tls?: Tls | undefined;
}

/**
 * What every `create<Name>Service` returns. Disposing it closes what it opened, in reverse order.
 */
export interface Service extends AsyncDisposable {
  /** The RPCs it serves. Empty for a service that only consumes or only speaks HTTP. */
  readonly routes: readonly ServiceRoute[];
  /**
   * RPCs for secrets of accounts. They have a port of their own, CREDENTIAL_PORT, that network
   * policies can restrict.
   */
  readonly credentialRoutes?: readonly ServiceRoute[];
  /** Handles requests to the admin port other than health and metrics. */
  readonly adminApp?: RequestListener | undefined;
  /** The folder whose disk the service writes to. The readiness probe says when it is full. */
  readonly dataFolder?: string | undefined;
  /**
   * Begins background work and opens listeners of its own. Called once, before it takes requests.
   */
  start(): Promise<void>;
  /**
   * Why the service can't take requests now; undefined when it can. The readiness probe calls it.
   */
  notReady(): Promise<string | undefined>;
  /**
   * Asks callers to use other replicas from now on; requests that still arrive are answered. Called
   * DRAIN_DELAY_SECONDS before `drain`.
   */
  announceDrain?(): void;
  /** Takes no new work and lets running work finish. Called before disposal. */
  drain?(timeoutMs: number): Promise<void>;
}
