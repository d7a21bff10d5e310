import type { Simulator } from '@gateway/simulator';

/** A running gateway as the suite sees it: addresses, and the simulated providers behind it. */
export interface Topology extends AsyncDisposable {
  readonly name: string;
  /** `http://127.0.0.1:<port>` of the public API. */
  readonly baseUrl: string;
  /** Admin port on which identity's RPCs are offered. */
  readonly adminUrl: string;
  /** Admin port of the edge. */
  readonly edgeAdminUrl: string;
  /** Admin port on which the limiter's RPCs are offered. */
  readonly limiterAdminUrl: string;
  /** Admin port on which usage and the log of requests can be asked for. */
  readonly usageAdminUrl: string;
  /** Admin port on which the ledger can be checked. */
  readonly ledgerAdminUrl: string;
  /** Admin port on which the pool broker's RPCs are offered. */
  readonly brokerAdminUrl: string;
  readonly simulator: Simulator;
}

/** Settings of every topology: deadlines are long enough that a busy machine does not look like an outage. */
export const suiteSettings: Readonly<Record<string, string>> = {
  REDIS_COMMAND_TIMEOUT_MS: '1000',
  LIMITER_REDIS_TIMEOUT_MS: '1000',
  RPC_TIMEOUT_MS: '5000',
};

/** Settings of topologies on which uploads are tried: room for two of the largest bodies, and not long to wait for slow ones. */
export const uploadSettings = {
  BODY_MEMORY_MAX_MIB: '128',
  BODY_IDLE_TIMEOUT_SECONDS: '5',
  BODY_MIN_KIB_PER_SECOND: '4',
  BODY_MIN_RATE_SECONDS: '6',
} as const;
