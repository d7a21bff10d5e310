import type { Simulator } from '@gateway/simulator';
import { roomMs, roomSeconds } from '@gateway/testkit/room';
import type { Operator } from '../client/operator.ts';

/** A running gateway as the suite sees it: addresses, and the simulated providers behind it. */
export interface Topology extends AsyncDisposable {
  readonly name: string;
  /** `http://127.0.0.1:<port>` of the public API. */
  readonly baseUrl: string;
  /**
   * Admin port with the operators' API and the console. Reading it fails if no admin service runs.
   */
  readonly adminUrl: string;
  /** The first operator's token there. */
  readonly adminToken: string;
  /** Admin port of the edge. */
  readonly edgeAdminUrl: string;
  /** How many processes share the public address. */
  readonly edgeProcesses: number;
  /** Performs operators' actions. */
  readonly operator: Operator;
  readonly simulator: Simulator;
}

/** The command line's settings for the gateway. */
export function commandLineSettings({ adminUrl, adminToken }: Pick<Topology, 'adminUrl' | 'adminToken'>) {
  return { GATEWAY_ADMIN_URL: adminUrl, GATEWAY_ADMIN_TOKEN: adminToken };
}

/** Settings of every topology. */
export const suiteSettings: Readonly<Record<string, string>> = {
  // Without receivers, a round is one call.
  ALERT_INTERVAL_SECONDS: '1',
  USAGE_WAIT_MILLISECONDS: String(Math.min(roomMs(4_000), 10_000)),
};

/**
 * Settings of topologies for upload tests: room for two of the largest bodies, and a short timeout
 * for slow ones.
 */
export const uploadSettings = {
  BODY_MEMORY_MAX_MIB: '128',
  BODY_IDLE_TIMEOUT_SECONDS: String(roomSeconds(5)),
  BODY_MIN_KIB_PER_SECOND: '4',
  BODY_MIN_RATE_SECONDS: String(roomSeconds(6)),
};
