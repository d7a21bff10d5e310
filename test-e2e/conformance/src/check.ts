import type { ProviderDouble } from './double/provider-double.ts';
import { type Endpoint, endpoints } from './target/endpoints.ts';
import type { GatewayClient } from './target/gateway-client.ts';

/**
 * What a check is about. `formats`: what SDKs need, from any gateway. `operations`: limits, failover, disconnects.
 * `specification`: what only this project's specification promises.
 */
export type Level = 'formats' | 'operations' | 'specification';

/** One rule and how to find out whether a gateway keeps it. */
export interface Check {
  /** `chat-stream-ends-with-done`: the same in reports, docs and tests. Begins with its endpoint, or with `http`. */
  readonly name: string;
  readonly level: Level;
  /** A gateway that does not claim all of them is not held to the check. */
  readonly endpoints: readonly Endpoint[];
  /** One sentence: what must be so. */
  readonly rule: string;
  /** Where the rule stands: an address, or a section of the specification. */
  readonly source: string;
  readonly needs?: readonly Need[];
  /** Where it takes longer than others. */
  readonly timeoutMs?: number;
  /** It makes accounts fail and rest, or counts: nothing else is tried at the same time but what mostly waits. */
  readonly alone?: true;
  /** Throws `Violation` when the rule is broken, `NotApplicable` when it can't be tried here. */
  run(scene: Scene): Promise<void>;
}

/** The endpoint that the name of a check begins with; `spec-` may stand before it. */
export function endpointNamedBy(name: string): Endpoint | undefined {
  return endpoints.find((endpoint) => name.replace(/^spec-/, '').startsWith(`${endpoint}-`));
}

/**
 * What a check can't do without. `double`: the providers behind the gateway are ours to script. `limited-token`: a second token
 * with few requests per minute. `second-account`: the double is reached through two accounts, so that one may fail.
 */
export type Need = 'double' | 'limited-token' | 'second-account';

/** What one run of one check works with. Its exchanges are the evidence of a failure. */
export interface Scene {
  readonly gateway: GatewayClient;
  /** Present when the check needs `double`, and where there is one. */
  readonly double: ProviderDouble | undefined;
  /** The model to ask on an endpoint. */
  modelOf(endpoint: Endpoint): string;
  /** Requests a minute of the limited token; 0 without one. */
  readonly limit: number;
  /** By which the gateway counts its limits. */
  readonly clock: Clock;
  /** Ends when the check has had its time. */
  readonly signal: AbortSignal;
}

/** Tells the time, and lets it pass. */
export interface Clock {
  nowMs(): number;
  wait(ms: number, signal: AbortSignal): Promise<void>;
}
