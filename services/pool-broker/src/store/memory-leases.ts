import { randomBytes } from 'node:crypto';
import { Chain, type Link, linkOf } from './chain.ts';
import { ChainedMap } from './chained-map.ts';
import { dropOlder } from './drop-older.ts';
import { leaseIdOf } from './lease-id.ts';
import type { CallerRequests, MemoryLease, ModelRequests } from './memory-request-book.ts';
import { settledMemoryMs } from './pool-store.ts';

/**
 * The leases of a single process, each in a slot that is used again after it. A lease's id names its slot: when that holds
 * another lease by then, or none, the lease has ended. So nothing need be kept of leases that ended, and nothing is made for
 * one but its id.
 */
export class MemoryLeases {
  /** Tells these leases from those of every other process, earlier ones of this broker among them. */
  readonly #name = `${randomBytes(12).toString('base64url')}-`;
  readonly #slots: Slot[] = [];
  readonly #free: Slot[] = [];
  #given = 0;
  /** Those under way, in the order in which they were taken, or renewed since. */
  readonly #underWay = new Chain<Slot>();
  /** Leases that ran out. The first to tell of the end of such a one is believed, however late. */
  readonly #ranOut = new ChainedMap<true>();
  /** Leases under way by ids that were given elsewhere. */
  readonly #others = new Map<string, Slot>();
  /** Ids that were given elsewhere, with when they were settled. */
  readonly #othersSettled = new ChainedMap<number>();
  readonly #onEnd: (lease: MemoryLease) => void;

  /** `onEnd` is told once of each lease that is settled, runs out, or is begun again. */
  constructor(onEnd: (lease: MemoryLease) => void) {
    this.#onEnd = onEnd;
  }

  /** Begins a lease; by an id that was given elsewhere, if one is named. Its request may have begun earlier. */
  begin(caller: string, nowMs: number, otherId?: string, takenAtMs = nowMs): MemoryLease {
    if (otherId !== undefined) this.#endOther(otherId);
    const slot = this.#free.pop() ?? this.#newSlot();
    this.#given += 1;
    slot.id = otherId ?? leaseIdOf(`${slot.name}${this.#given}`, caller);
    slot.takenAtMs = takenAtMs;
    slot.renewedAtMs = nowMs;
    this.#underWay.add(slot.inAll);
    if (otherId !== undefined) this.#others.set(otherId, slot);
    return slot;
  }

  isUnderWay(leaseId: string): boolean {
    return this.#slotOf(leaseId) !== undefined;
  }

  /** True for a lease under way, which counts from now on again until it runs out. */
  renew(leaseId: string, nowMs: number): boolean {
    const slot = this.#slotOf(leaseId);
    if (slot === undefined) return false;
    slot.renewedAtMs = nowMs;
    this.#underWay.remove(slot.inAll);
    this.#underWay.add(slot.inAll);
    return true;
  }

  /** Whether a lease that is not under way may count again: it ran out, or was given elsewhere and not settled here. */
  mayCountAgain(leaseId: string): boolean {
    return leaseId.startsWith(this.#name) ? this.#ranOut.delete(leaseId) : !this.#othersSettled.has(leaseId);
  }

  /** Ends a lease, once. `takenAtMs` is undefined for one that is not known, or not any more. */
  settle(leaseId: string, nowMs: number): { readonly takenAtMs: number | undefined } | 'settled_before' {
    if (!leaseId.startsWith(this.#name)) return this.#settleOther(leaseId, nowMs);
    const slot = this.#slotOf(leaseId);
    this.#others.delete(leaseId);
    if (slot !== undefined) return { takenAtMs: this.#end(slot) };
    return this.#ranOut.delete(leaseId) ? unknown : 'settled_before';
  }

  /** Ends the leases that were taken, and last renewed, at a time or before it. */
  runOut(atMs: number): void {
    for (let { oldest } = this.#underWay; oldest !== undefined; { oldest } = this.#underWay) {
      const slot = oldest.item;
      if (slot.renewedAtMs > atMs) return;
      this.#others.delete(slot.id);
      if (slot.id.startsWith(this.#name)) this.#ranOut.set(slot.id, true);
      this.#end(slot);
      if (this.#ranOut.size > maxRanOut && this.#ranOut.oldest !== undefined) {
        this.#ranOut.delete(this.#ranOut.oldest.key);
      }
    }
  }

  #settleOther(leaseId: string, nowMs: number): { readonly takenAtMs: number | undefined } | 'settled_before' {
    dropOlder(this.#othersSettled, nowMs - settledMemoryMs);
    if (this.#othersSettled.has(leaseId)) return 'settled_before';
    this.#othersSettled.set(leaseId, nowMs);
    return { takenAtMs: this.#endOther(leaseId) };
  }

  #endOther(leaseId: string): number | undefined {
    const slot = this.#others.get(leaseId);
    if (slot === undefined) return undefined;
    this.#others.delete(leaseId);
    return this.#end(slot);
  }

  /** Frees the slot. Gives the time at which its lease was taken. */
  #end(slot: Slot): number {
    const { takenAtMs } = slot;
    this.#onEnd(slot);
    this.#underWay.remove(slot.inAll);
    slot.id = '';
    slot.account = undefined;
    slot.requests = undefined;
    slot.caller = undefined;
    this.#free.push(slot);
    return takenAtMs;
  }

  #slotOf(leaseId: string): Slot | undefined {
    const other = this.#others.get(leaseId);
    if (other !== undefined || !leaseId.startsWith(this.#name)) return other;
    const slot = this.#slots[Number.parseInt(leaseId.slice(this.#name.length), 10)];
    return slot?.id === leaseId ? slot : undefined;
  }

  #newSlot(): Slot {
    const slot = new Slot(`${this.#name}${this.#slots.length}-`);
    this.#slots.push(slot);
    return slot;
  }
}

class Slot implements MemoryLease {
  /** What the ids of its leases begin with. */
  readonly name: string;
  /** Empty while it holds none. */
  id = '';
  takenAtMs = 0;
  renewedAtMs = 0;
  account: { inFlight: number } | undefined;
  requests: ModelRequests | undefined;
  caller: CallerRequests | undefined;
  readonly inAll: Link<Slot> = linkOf<Slot>(this);
  readonly inModel: Link<MemoryLease> = linkOf<MemoryLease>(this);

  constructor(name: string) {
    this.name = name;
  }
}

const unknown = { takenAtMs: undefined } as const;

// A lease runs out because an edge was killed, or another broker was told of its end: bounded, should that go on and on.
const maxRanOut = 100_000;
