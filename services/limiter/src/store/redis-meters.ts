import {
  type Check,
  counterOf,
  isHeld,
  LEASE_MS,
  type Meter,
  type MeterState,
  RESERVED_MS,
  type Taken,
} from '@gateway/limits';
import {
  endOfLocalDayMs,
  epochMs,
  type LocalDay,
  localDayOf,
  startOfLocalDayMs,
  yieldToEventLoop,
} from '@gateway/time';
import { counterKeys, hashTag, redisKeys } from './redis-keys.ts';
import { KeyList, type RedisScript, type StateReply } from './redis-script.ts';

export interface TakingRequest extends Pick<Check, 'requestId' | 'key' | 'group'> {
  readonly meters: readonly Meter[];
}

/**
 * Takes the meters of requests. All requests of one turn of the event loop share a call.
 *
 * The local day follows Redis' clock, so that all limiters agree on midnight. Keys must be named
 * before the script runs, so this process guesses the day from its own clock. If Redis' clock
 * contradicts the guess, the script changes nothing and returns the time, and the call is made
 * again with the right day.
 */
export class RedisMeters {
  readonly #script: RedisScript;
  readonly #isCluster: boolean;
  /** Requests of this turn of the event loop, which share a call. */
  readonly #batches = new Map<string, Batch>();
  /** How far Redis' clock is ahead of ours, learned from wrong guesses. */
  #aheadMs = 0;

  constructor(script: RedisScript, isCluster: boolean) {
    this.#script = script;
    this.#isCluster = isCluster;
  }

  /** Takes meters together with the other requests of this turn of the event loop. */
  async take(request: TakingRequest): Promise<Taken> {
    // A cluster accepts a script for one hash tag only.
    const name = this.#isCluster ? hashTag({ key: request.group?.key ?? request.key }) : '';
    const batch = this.#batches.get(name) ?? this.#openBatch(name);
    const index = batch.requests.push(request) - 1;
    if (batch.requests.length === maxBatch) this.#batches.delete(name);
    const taken = (await batch.taken)[index];
    if (taken === undefined) throw new Error('a Redis script answered too few requests');
    return taken;
  }

  /** Takes meters of a given local day. */
  async takeOn(localDay: LocalDay, request: TakingRequest): Promise<Taken> {
    const taken = await this.#takeAll([request], localDay);
    const [only] = typeof taken === 'number' ? [] : taken;
    if (only === undefined) throw new Error('a Redis script answered too few requests');
    return only;
  }

  /** Collects requests until the end of this turn of the event loop. */
  #openBatch(name: string): Batch {
    const requests: TakingRequest[] = [];
    const taken = yieldToEventLoop().then(() => {
      if (this.#batches.get(name)?.requests === requests) this.#batches.delete(name);
      return this.#takeToday(requests);
    });
    this.#batches.set(name, { requests, taken });
    return { requests, taken };
  }

  /** Takes with a guess of Redis' local day, and again when the answer is Redis' time. */
  async #takeToday(requests: readonly TakingRequest[]): Promise<readonly Taken[]> {
    // Midnight may pass between a guess and its check.
    for (let guesses = 0; guesses < 3; guesses++) {
      const localDay = localDayOf(epochMs() + this.#aheadMs);
      const taken = await this.#takeAll(requests, localDay, {
        starts: startOfLocalDayMs(localDay),
        ends: endOfLocalDayMs(localDay),
      });
      if (typeof taken !== 'number') return taken;
      this.#aheadMs = taken - epochMs();
    }
    throw new Error('the clock of Redis jumps: the local day is unknown');
  }

  /** Redis' time if its clock is not within the given day. */
  async #takeAll(
    requests: readonly TakingRequest[],
    localDay: LocalDay,
    day: object = {},
  ): Promise<readonly Taken[] | number> {
    const keys = new KeyList();
    const terms = { ...day, requests: requests.map((request) => takeTerms(request, localDay, keys)) };
    const { now: nowMs, answers } = await this.#script.run('take', keys, terms);
    return (
      answers?.map(({ taken, states }, index) => {
        const meters = requests[index]?.meters ?? [];
        const unloaded = meters.filter((_, n) => states[n]?.unloaded).map((meter) => counterOf(meter, localDay));
        return { nowMs, localDay, isTaken: taken, states: states.map(stateFrom), unloaded };
      }) ?? nowMs
    );
  }
}

/** Redis does nothing else while it decides this many. */
const maxBatch = 100;

interface Batch {
  readonly requests: TakingRequest[];
  readonly taken: Promise<readonly Taken[]>;
}

/** Requests end for their key and its group together. */
export function endedKey({ key, group }: Pick<Check, 'key' | 'group'>): string {
  return redisKeys({ key: group?.key ?? key }).ended;
}

/** Where the leases of a meter are: those of running requests, or what they have reserved. */
export function leasesOf(meter: Meter, localDay: LocalDay, keys: KeyList) {
  if (meter.kind === 'lease') return keys.leasesAt(redisKeys(meter).leases, LEASE_MS);
  return keys.leasesAt(counterKeys(counterOf(meter, localDay)).leases, RESERVED_MS);
}

function takeTerms(request: TakingRequest, localDay: LocalDay, keys: KeyList) {
  const { requestId: id, meters } = request;
  return {
    id,
    ended: meters.some(isHeld) ? keys.at(endedKey(request)) : undefined,
    meters: meters.map((meter) => {
      const { kind, limit, cost, refuses, ledger } = meter;
      const isTotal = kind === 'total';
      return {
        kind,
        limit,
        cost,
        reports: refuses ? undefined : true,
        ledger: ledger === 'none' ? undefined : ledger,
        is_money: meter.period === undefined ? undefined : true,
        window: kind === 'window' ? keys.at(redisKeys(meter).window) : undefined,
        counter: isTotal ? keys.at(counterKeys(counterOf(meter, localDay)).counter) : undefined,
        leases: isHeld(meter) ? leasesOf(meter, localDay, keys) : undefined,
      };
    }),
  };
}

function stateFrom({
  used,
  reserved,
  newest: newestMs,
  freeing: freeingMs,
  unknown: isUnknown,
}: StateReply): MeterState {
  return { used, reserved, newestMs, freeingMs, isUnknown };
}
