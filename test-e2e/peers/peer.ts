import type { Endpoint, Level, Target } from '@gateway/conformance';

/** A gateway under the rules, with the claims of its documentation. */
export interface Peer {
  /** The name for `--peer`. */
  readonly name: string;
  /** The npm package; undefined for gateways of this repository. */
  readonly install?: PeerPackage;
  /** The documentation of each endpoint that it claims. Other endpoints are not checked. */
  readonly claims: Partial<Readonly<Record<Endpoint, string>>>;
  readonly levels: readonly Level[];
  /** For readers: its set-up, with its surprises. */
  readonly setUp: readonly string[];
  /** The command that starts it on its usual address, with the provider at port 9101. */
  readonly startCommand: string;
  readonly usualUrl: string;
  /**
   * Rules that it keeps in another way according to its documentation, by the name of the check.
   * These are not checked.
   */
  readonly keepsOtherwise?: Readonly<Record<string, string>>;
  start(place: Place): Promise<StartedPeer>;
}

export interface PeerPackage {
  readonly package: string;
  readonly version: string;
  /** Versions of its dependencies, if npm's own choice breaks it. */
  readonly overrides?: Readonly<Record<string, string>>;
}

/** The context in which a peer starts. */
export interface Place {
  /** Its npm installation; empty for gateways of this repository. */
  readonly installed: string;
  /** Its own empty folder, which is removed afterwards. */
  readonly home: string;
  readonly port: number;
  /** The address of the provider double. */
  readonly providerPort: number;
}

export interface StartedPeer extends AsyncDisposable {
  /** Several if headers choose the provider. Each check runs on the first one that fits. */
  readonly targets: readonly Target[];
}

/** A gateway that is not in the table, and why. */
export interface LeftOut {
  readonly name: string;
  readonly version: string;
  readonly why: string;
}
