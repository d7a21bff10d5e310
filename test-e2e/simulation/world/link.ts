import type { Network } from './network.ts';
import type { Place, WorldProcess } from './world.ts';

/** What one end of a connection learns, in the context of the process that has it. */
export interface LinkListener {
  onOpen?(): void;
  onMessage(message: unknown, bytes: number): void;
  /** The other side sends nothing more. */
  onEnd(): void;
  /** The connection is lost, or was never made. */
  onLost(code: 'ECONNRESET' | 'ECONNREFUSED'): void;
}

/** How many bytes may be on their way or unread in one direction. */
const windowBytes = 64 * 1024;

/** One connection: two ends, each in its process. */
export class Link {
  readonly client: LinkEnd;
  server: LinkEnd | undefined;
  onClosed: () => void = () => undefined;
  readonly network: Network;
  readonly #host: string;

  constructor(network: Network, clientPlace: Place, host: string) {
    this.network = network;
    this.client = new LinkEnd(this, clientPlace, clientPlace.owner?.name ?? 'outside');
    this.#host = host;
  }

  get names(): readonly string[] {
    return [this.client.name, this.#host];
  }

  peerOf(end: LinkEnd): LinkEnd | undefined {
    return end === this.client ? this.server : this.client;
  }

  accept(place: Place): void {
    this.server = new LinkEnd(this, place, this.#host);
    this.server.open();
    const { client } = this;
    this.network.carry(this.#host, client.name, () => client.open(), client.place);
  }

  refuse(): void {
    const { client } = this;
    this.network.carry(this.#host, client.name, () => client.lose('ECONNREFUSED'), client.place);
    this.onClosed();
  }

  reset(): void {
    this.client.lose('ECONNRESET');
    this.server?.lose('ECONNRESET');
    this.onClosed();
  }

  /** The kernel of a process that was killed resets its connections. */
  loseEndOf(process: WorldProcess | undefined): void {
    for (const end of [this.client, this.server]) if (end !== undefined && end.place.owner === process) end.reset();
  }
}

/** One end of a connection. Sends messages that count as bytes, within a window. */
export class LinkEnd {
  readonly place: Place;
  readonly name: string;
  readonly #link: Link;
  #listener: LinkListener | undefined;
  #state: 'opening' | 'open' | 'ended' | 'closed' = 'opening';
  /** What was sent before the connection opened. */
  #early: (() => void)[] = [];
  /** When the last message arrives there: messages keep their order. */
  #lastArrivesMs = 0;
  /** Bytes that the other side has not read yet. */
  #unread = 0;
  #whenRead: (() => void)[] = [];
  /** Messages that arrived and wait until this side reads. */
  readonly #arrived: { readonly message: unknown; readonly bytes: number }[] = [];
  #isReading = true;
  #hasPeerEnded = false;
  #hasToldEnd = false;

  constructor(link: Link, place: Place, name: string) {
    this.#link = link;
    this.place = place;
    this.name = name;
  }

  get peerName(): string {
    return this.#link.names.find((name) => name !== this.name) ?? this.name;
  }

  listen(listener: LinkListener): void {
    this.#listener = listener;
    this.#read();
  }

  open(): void {
    if (this.#state !== 'opening') return;
    this.#state = 'open';
    this.#tell((listener) => listener.onOpen?.());
    for (const send of this.#early.splice(0)) send();
  }

  /** False: the window is full; `whenRead` is called when it has room again. */
  send(message: unknown, bytes: number): boolean {
    if (this.#state === 'opening') this.#early.push(() => this.#send(message, bytes));
    else if (this.#state === 'open') this.#send(message, bytes);
    return this.#unread < windowBytes;
  }

  whenRead(act: () => void): void {
    this.#whenRead.push(act);
  }

  /** Sends nothing more. */
  end(): void {
    if (this.#state === 'opening') return void this.#early.push(() => this.end());
    if (this.#state !== 'open') return;
    this.#state = 'ended';
    this.#carry((peer) => peer.#onPeerEnd());
    if (this.#hasToldEnd) this.#close();
  }

  /** Ends the connection in both directions at once. The other side gets an error. */
  reset(): void {
    if (this.#state === 'closed') return;
    this.#close();
    this.#carry((peer) => peer.lose('ECONNRESET'));
  }

  /** Messages wait until `resume`. */
  pause(): void {
    this.#isReading = false;
  }

  resume(): void {
    if (this.#isReading) return;
    this.#isReading = true;
    this.#read();
  }

  lose(code: 'ECONNRESET' | 'ECONNREFUSED'): void {
    if (this.#state === 'closed') return;
    this.#close();
    this.#tell((listener) => listener.onLost(code));
  }

  #send(message: unknown, bytes: number): void {
    this.#unread += bytes;
    this.#carry((peer) => peer.#onMessage(message, bytes));
  }

  #onMessage(message: unknown, bytes: number): void {
    // A closed socket answers with a reset.
    if (this.#state === 'closed') return this.#carry((peer) => peer.lose('ECONNRESET'));
    this.#arrived.push({ message, bytes });
    this.#read();
  }

  #read(): void {
    if (this.#listener === undefined) return;
    while (this.#isReading && this.#arrived.length > 0) {
      const next = this.#arrived.shift();
      if (next === undefined) return;
      const peer = this.#link.peerOf(this);
      if (peer !== undefined) peer.#onRead(next.bytes, this.name);
      this.#tell((listener) => listener.onMessage(next.message, next.bytes));
    }
    if (this.#hasPeerEnded && this.#arrived.length === 0) this.#tellEnd();
  }

  /** The news that there is room travels too. */
  #onRead(bytes: number, from: string): void {
    this.#unread -= bytes;
    if (this.#whenRead.length === 0 || this.#unread >= windowBytes) return;
    const waiting = this.#whenRead.splice(0);
    const goOn = () => {
      for (const act of waiting) act();
    };
    this.#link.network.carry(from, this.name, goOn, this.place);
  }

  #onPeerEnd(): void {
    if (this.#state === 'closed') return;
    this.#hasPeerEnded = true;
    this.#read();
  }

  #tellEnd(): void {
    if (this.#state === 'closed' || this.#hasToldEnd) return;
    this.#hasToldEnd = true;
    if (this.#state === 'ended') this.#close();
    this.#tell((listener) => listener.onEnd());
  }

  #close(): void {
    this.#state = 'closed';
    if (this.#link.peerOf(this)?.isClosed !== false) this.#link.onClosed();
  }

  /** Whether messages have arrived that this side has not read. */
  get hasUnread(): boolean {
    return this.#arrived.length > 0;
  }

  get isClosed(): boolean {
    return this.#state === 'closed';
  }

  #carry(deliver: (peer: LinkEnd) => void): void {
    const peer = this.#link.peerOf(this);
    if (peer === undefined) return;
    const act = () => deliver(peer);
    const { network } = this.#link;
    this.#lastArrivesMs = network.carry(this.name, peer.name, act, peer.place, this.#lastArrivesMs);
  }

  #tell(what: (listener: LinkListener) => void): void {
    const listener = this.#listener;
    if (listener !== undefined) this.place.inContext(() => what(listener));
  }
}
