import { Link, type LinkEnd } from './link.ts';
import { here, type Place, type World, type WorldProcess } from './world.ts';

/** Takes the server's end of a new connection, in the context of the server. */
type Accept = (end: LinkEnd) => void;

interface Listener {
  readonly accept: Accept;
  readonly place: Place;
}

/**
 * The network of the world: connections between processes, by address (`name:port`). Bytes arrive
 * whole, in order and late, or not at all. A cut holds everything back until it heals; processes
 * only notice by their own limits of time.
 */
export class Network {
  readonly world: World;
  readonly #listeners = new Map<string, Listener>();
  readonly #links = new Set<Link>();
  /** Pairs of process names between which nothing passes, each with what waits for the end. */
  readonly #cuts = new Map<string, { readonly deliver: () => void; readonly place: Place }[]>();
  #lastPort = 20_000;

  constructor(world: World) {
    this.world = world;
  }

  /** The connections that are open. */
  get open(): number {
    return this.#links.size;
  }

  /** Listens at a port of the current process; port 0 picks a free one. */
  listen(port: number, accept: Accept): { readonly port: number; close(): void } {
    const place = here();
    const used = port === 0 ? ++this.#lastPort : port;
    const address = `${place.owner?.name}:${used}`;
    if (place.owner?.state === 'killed') return { port: used, close: () => undefined };
    this.#listeners.set(address, { accept, place });
    const close = () => {
      if (this.#listeners.get(address)?.place === place) this.#listeners.delete(address);
    };
    return { port: used, close };
  }

  /** Connects the current process. The end opens later, or is lost. */
  connect(address: string): LinkEnd {
    const place = here();
    const host = address.slice(0, address.lastIndexOf(':'));
    const link = new Link(this, place, host);
    this.#links.add(link);
    link.onClosed = () => this.#links.delete(link);
    if (place.owner?.state === 'killed') return link.client;
    this.carry(place.owner?.name ?? '', host, () => this.#arrive(address, link));
    return link.client;
  }

  /** Resets all connections of a killed process. Processes that are cut off do not notice. */
  loseLinksOf(process: WorldProcess): void {
    for (const link of this.#links) link.loseEndOf(process);
  }

  /** Resets one connection between two processes, as a middlebox does. */
  reset(one: string, other: string): boolean {
    const link = this.#links.values().find(({ names }) => names.includes(one) && names.includes(other));
    link?.reset();
    return link !== undefined;
  }

  cut(one: string, other: string): void {
    this.#cuts.getOrInsertComputed(pairOf(one, other), () => []);
  }

  isCut(one: string, other: string): boolean {
    return this.#cuts.has(pairOf(one, other));
  }

  /** What was held back arrives now, as if it were sent again. */
  heal(one: string, other: string): void {
    this.#heal(pairOf(one, other));
  }

  healAll(): void {
    for (const pair of [...this.#cuts.keys()]) this.#heal(pair);
  }

  /** Calls `deliver` when something that is sent now arrives. */
  carry(from: string, to: string, deliver: () => void, place: Place = nowhere, notBeforeMs = 0): number {
    const { world } = this;
    const delayMs = Math.max(this.#delayMs(from, to), notBeforeMs - world.elapsedMs);
    const arrive = () => {
      const held = this.#cuts.get(pairOf(from, to));
      if (held === undefined) deliver();
      else held.push({ deliver, place });
    };
    world.plan(delayMs, arrive, place);
    return world.elapsedMs + delayMs;
  }

  #heal(pair: string): void {
    const held = this.#cuts.get(pair) ?? [];
    this.#cuts.delete(pair);
    for (const { deliver, place } of held) this.world.plan(0, deliver, place);
  }

  #arrive(address: string, link: Link): void {
    const listener = this.#listeners.get(address);
    if (listener === undefined || listener.place.owner?.state === 'killed') return link.refuse();
    // A kernel accepts connections for a paused process.
    link.accept(listener.place);
    this.world.plan(0, () => link.server !== undefined && listener.accept(link.server), listener.place);
  }

  /** Mostly a fraction of a millisecond, sometimes some. */
  #delayMs(from: string, to: string): number {
    const chance = this.world.seeded.of(`network ${pairOf(from, to)}`);
    return 0.1 + chance.pauseMs(chance.happens(0.02) ? 5 : 0.2);
  }
}

const nowhere: Place = { owner: undefined, inContext: (act) => act() };

function pairOf(one: string, other: string): string {
  return one < other ? `${one} ${other}` : `${other} ${one}`;
}
