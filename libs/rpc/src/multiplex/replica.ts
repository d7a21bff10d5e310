import type { RpcError } from '../rpc-error.ts';
import { statusNumber } from '../status-number.ts';
import type { ClientCall } from './client-call.ts';
import type { ClientSession, SessionKeeper } from './client-session.ts';

/** Where calls can be started now. */
export interface Place {
  /** Calls that run here. */
  readonly inFlight: number;
  start(call: ClientCall): void;
  /** Starts no more calls, and closes with the last one that runs. */
  drain(): void;
}

/** How replicas are reached. */
export interface Network {
  /** Opens a stream of calls. The keeper is told how it went. */
  openSession(address: string, keeper: SessionKeeper): ClientSession;
  /** Plain gRPC, for a replica that knows no streams of calls. Told when the replica cannot be reached that way. */
  openPlain(address: string, onUnreachable: (reason: RpcError) => void): Place;
}

export interface ReplicaTimes {
  /** First wait after a failed attempt to connect; doubled with each further one. */
  readonly firstBackoffMs: number;
  readonly longestBackoffMs: number;
  /** An attempt to connect fails after so long. */
  readonly connectTimeoutMs: number;
  /** How often a replica that knew only plain gRPC is asked again: it may have been replaced by a newer one. */
  readonly askAgainMs: number;
}

export const defaultReplicaTimes: ReplicaTimes = {
  firstBackoffMs: 50,
  longestBackoffMs: 500,
  connectTimeoutMs: 5_000,
  askAgainMs: 30_000,
};

/** One address behind a name: a stream of calls to it, made anew whenever it is gone. */
export class Replica {
  readonly #address: string;
  readonly #network: Network;
  readonly #times: ReplicaTimes;
  readonly #onChange: () => void;
  #place: Place | undefined;
  /** The stream that is being opened. */
  #attempt: ClientSession | undefined;
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;
  #lastFailure: RpcError | undefined;
  #isRetired = false;

  constructor(address: string, network: Network, times: ReplicaTimes, onChange: () => void) {
    this.#address = address;
    this.#network = network;
    this.#times = times;
    this.#onChange = onChange;
    this.#connect();
  }

  /** Where calls can be started now. */
  get place(): Place | undefined {
    return this.#place;
  }

  /** Why it could not be reached when it was last tried. Absent while there is hope. */
  get failure(): RpcError | undefined {
    return this.#lastFailure;
  }

  /** The name does not stand for this address any more: running calls end, no new ones start. */
  retire(): void {
    this.#isRetired = true;
    clearTimeout(this.#timer);
    this.#attempt?.abandon();
    this.#place?.drain();
    this.#place = undefined;
  }

  #connect(): void {
    const isCurrent = () => this.#attempt === session;
    const session = this.#network.openSession(this.#address, {
      onReady: () => this.#onReady(session),
      onDraining: () => this.#onGone(session),
      onOver: (reason) => (isCurrent() ? this.#onFailed(reason) : this.#onGone(session)),
    });
    this.#attempt = session;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => session.abandon(), this.#times.connectTimeoutMs).unref();
  }

  #onReady(session: ClientSession): void {
    clearTimeout(this.#timer);
    this.#attempt = undefined;
    this.#lastFailure = undefined;
    if (this.#isRetired) return session.drain();
    this.#place?.drain();
    this.#place = session;
    this.#onChange();
    // A replica that greets and leaves at once is not asked again without a pause.
    this.#timer = setTimeout(() => this.#onStable(), this.#times.longestBackoffMs).unref();
  }

  #onStable(): void {
    this.#failures = 0;
  }

  #onFailed(reason: RpcError): void {
    this.#attempt = undefined;
    if (this.#isRetired) return;
    if (isUnimplemented(reason.cause)) return this.#speakPlain();
    this.#lastFailure = reason;
    this.#connectLater();
    this.#onChange();
  }

  #onGone(place: Place): void {
    if (this.#place !== place) return;
    this.#place = undefined;
    this.#connectLater();
    this.#onChange();
  }

  #connectLater(): void {
    if (this.#isRetired) return;
    const { firstBackoffMs, longestBackoffMs } = this.#times;
    const delayMs = this.#failures === 0 ? 0 : Math.min(longestBackoffMs, firstBackoffMs * 2 ** (this.#failures - 1));
    this.#failures++;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#connect(), delayMs * (0.8 + 0.4 * Math.random())).unref();
  }

  #speakPlain(): void {
    this.#lastFailure = undefined;
    this.#timer = setTimeout(() => this.#connect(), this.#times.askAgainMs).unref();
    if (this.#place !== undefined) return;
    const plain = this.#network.openPlain(this.#address, (reason) => this.#onPlainUnreachable(plain, reason));
    this.#place = plain;
    this.#failures = 0;
    this.#onChange();
  }

  #onPlainUnreachable(plain: Place, reason: RpcError): void {
    if (this.#place !== plain) return;
    this.#lastFailure = reason;
    plain.drain();
    this.#onGone(plain);
  }
}

function isUnimplemented(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === statusNumber.UNIMPLEMENTED;
}
