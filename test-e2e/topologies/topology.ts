import type { Simulator } from '@gateway/simulator';

/** A running gateway as the suite sees it: addresses, and the simulated providers behind it. */
export interface Topology extends AsyncDisposable {
  readonly name: string;
  /** `http://127.0.0.1:<port>` of the public API. */
  readonly baseUrl: string;
  /** Admin port on which identity's RPCs are offered. */
  readonly adminUrl: string;
  readonly simulator: Simulator;
}
