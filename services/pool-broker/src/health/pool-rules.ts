import type { PoolSettings } from '@gateway/config';

/** Every duration and share that health and selection go by: those of the configuration, and what it leaves to us. */
export interface PoolRules extends PoolSettings {
  /** The longest pause of an account whose credential was refused; it doubles while probes are refused too. */
  readonly unauthorizedCooldownMaxMs: number;
  /** How often one request asks an account whether a long reset that its provider named came early. */
  readonly earlyProbeIntervalMs: number;
  /** How long a guessed cooldown keeps even those requests away that no other account can serve. */
  readonly lastResortProbeIntervalMs: number;
  /** Limits are told at once: a probe of one that hears nothing bad for so long is taken to have passed. */
  readonly limitProbeQuietMs: number;
  /** First pause of a whole pool whose provider is overloaded or out of reach; doubles while that goes on. */
  readonly poolPauseMs: number;
  readonly poolPauseMaxMs: number;
  /** Failures further apart than this are not one trouble of the pool. */
  readonly poolTroubleWindowMs: number;
  /**
   * How long an overload must last to be one of the pool. It is told at once: while a request goes on that was sent since it
   * began, and is older than this, the pool serves.
   */
  readonly overloadConfirmMs: number;
  /** The same of the network, where it takes a time to give up. */
  readonly networkConfirmMs: number;
  /** How many accounts must agree that it is not them. All of them, in a smaller pool. */
  readonly poolTroubleAccounts: number;
  /** Overload is told at once: the probe of a paused pool that hears nothing bad for so long is taken to have passed. */
  readonly poolProbeQuietMs: number;
  /** Accounts with no more of a quota left than this share serve when no other can. */
  readonly quotaReserve: number;
  /** What is kept of a pool, as a share of it, for callers that have less than their part. */
  readonly callerReserve: number;
  /** How long a caller counts as one of those who share a pool. */
  readonly callerMemoryMs: number;
}

/** The rules that settings come to: what they leave out has a default that is safe to keep. */
export function poolRulesOf(settings: PoolSettings & Partial<PoolRules>): PoolRules {
  return { ...defaults, ...settings };
}

const defaults: Omit<PoolRules, keyof PoolSettings> = {
  unauthorizedCooldownMaxMs: 3_600_000,
  earlyProbeIntervalMs: 600_000,
  lastResortProbeIntervalMs: 30_000,
  limitProbeQuietMs: 3_000,
  poolPauseMs: 2_000,
  poolPauseMaxMs: 30_000,
  poolTroubleWindowMs: 10_000,
  overloadConfirmMs: 1_000,
  networkConfirmMs: 15_000,
  poolTroubleAccounts: 10,
  poolProbeQuietMs: 5_000,
  quotaReserve: 0.02,
  callerReserve: 0.1,
  callerMemoryMs: 3_600_000,
};
