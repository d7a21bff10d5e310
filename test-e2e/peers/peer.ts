import type { Endpoint, Level, Target } from '@gateway/conformance';

/** A gateway that is held to the rules, with what its documentation says of it. */
export interface Peer {
  /** As `--peer` names it. */
  readonly name: string;
  /** What npm installs; nothing for what is in this repository. */
  readonly install?: PeerPackage;
  /** Where its documentation claims an endpoint. It is held to no other. */
  readonly claims: Partial<Readonly<Record<Endpoint, string>>>;
  readonly levels: readonly Level[];
  /** For readers: how it is set up, and what they would not expect. */
  readonly setUp: readonly string[];
  /** What starts it on its usual address, with the provider at port 9101. */
  readonly startCommand: string;
  readonly usualUrl: string;
  /** Rules that its documentation says it keeps otherwise, by the name of the check. It is not held to them. */
  readonly keepsOtherwise?: Readonly<Record<string, string>>;
  start(place: Place): Promise<StartedPeer>;
}

export interface PeerPackage {
  readonly package: string;
  readonly version: string;
  /** Versions of what it depends on, where those that npm takes by itself break it. */
  readonly overrides?: Readonly<Record<string, string>>;
}

/** What a peer is started with. */
export interface Place {
  /** Where npm installed it; empty for what is in this repository. */
  readonly installed: string;
  /** Empty, its own, and gone afterwards. */
  readonly home: string;
  readonly port: number;
  /** Where the provider double listens. */
  readonly providerPort: number;
}

export interface StartedPeer extends AsyncDisposable {
  /** More than one where headers choose the provider. A check is tried on the first that it fits. */
  readonly targets: readonly Target[];
}

/** A gateway that is not in the table, and why. */
export interface LeftOut {
  readonly name: string;
  readonly version: string;
  readonly why: string;
}
