import type { ProviderDouble } from './double/provider-double.ts';
import { type Endpoint, endpoints } from './target/endpoints.ts';
import type { GatewayClient } from './target/gateway-client.ts';

/**
 * The subject of a check. `formats`: what SDKs need, from any gateway. `operations`: limits,
 * failover, disconnects. `specification`: what only this project's specification promises.
 */
export type Level = 'formats' | 'operations' | 'specification';

/** One rule, and a way to find out whether a gateway keeps it. */
export interface Check {
  /**
   * `chat-stream-ends-with-done`: the same name in reports, docs and tests. It begins with the
   * endpoint, or with `http`.
   */
  readonly name: string;
  readonly level: Level;
  /** The check is skipped for a gateway that does not claim all of them. */
  readonly endpoints: readonly Endpoint[];
  /** The rule, in one sentence. */
  readonly rule: string;
  /** The source of the rule: an address, or a section of the specification. */
  readonly source: string;
  readonly needs?: readonly Need[];
  /** For checks that take longer than others. */
  readonly timeoutMs?: number;
  /**
   * It makes accounts fail and pause, or counts: at the same time only checks that mostly wait may
   * run.
   */
  readonly alone?: true;
  /** Throws `Violation` if the rule is broken, `NotApplicable` if it can't be checked here. */
  run(scene: Scene): Promise<void>;
}

/** The endpoint at the beginning of a check's name; `spec-` may precede it. */
export function endpointNamedBy(name: string): Endpoint | undefined {
  return endpoints.find((endpoint) => name.replace(/^spec-/, '').startsWith(`${endpoint}-`));
}

/**
 * The requirements of a check. `double`: we can script the providers behind the gateway.
 * `limited-token`: a second token with few requests per minute. `second-account`: the double is
 * reached through two accounts, so that one may fail.
 */
export type Need = 'double' | 'limited-token' | 'second-account';

/** The context of one run of one check. Its exchanges are the evidence of a failure. */
export interface Scene {
  readonly gateway: GatewayClient;
  /** Present if the check needs `double`, and there is one. */
  readonly double: ProviderDouble | undefined;
  /** The model for requests to an endpoint. */
  modelOf(endpoint: Endpoint): string;
  /** Requests a minute of the limited token; 0 without one. */
  readonly limit: number;
  /** The clock by which the gateway counts its limits. */
  readonly clock: Clock;
  /** Aborts when the check's time is over. */
  readonly signal: AbortSignal;
}

/** Returns the time, and waits. */
export interface Clock {
  nowMs(): number;
  wait(ms: number, signal: AbortSignal): Promise<void>;
}
