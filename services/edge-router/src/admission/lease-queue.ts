import type { Token } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { monotonicMs, sleep } from '@gateway/time';
import { type AdmissionDecision, holdsLeases } from './admit.ts';

/** A request that asks to be admitted, again for as long as it waits. */
export interface AskingRequest {
  readonly token: Token;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
  readonly ask: () => Promise<AdmissionDecision>;
}

/**
 * Lets requests wait for a lease of those that may run at a time, instead of being refused at
 * once. Those of one token, or of one group that limits them, are admitted in the order of their
 * arrival at this edge; other edges have queues of their own. Nothing else of a request waits: its
 * body has not been read yet.
 */
export class LeaseQueue {
  readonly #waitMs: number;
  /** By the limited key: resolves when its last waiting request, and all before it, ended. */
  readonly #last = new Map<string, Promise<void>>();
  readonly #waitingOf = new Map<string, number>();
  #waiting = 0;

  /** @param waitMs 0: no request waits. */
  constructor(waitMs: number) {
    this.#waitMs = waitMs;
  }

  /** The number of waiting requests. */
  get size(): number {
    return this.#waiting;
  }

  /** The decision, which is a refusal only if there was no lease for as long as a request waits. */
  admit(request: AskingRequest): Promise<AdmissionDecision> {
    const key = this.#waitMs === 0 ? undefined : limitedKey(request.token);
    return key === undefined ? request.ask() : this.#admitInTurn(key, request);
  }

  async #admitInTurn(key: string, { signal, ask }: AskingRequest): Promise<AdmissionDecision> {
    // A request that arrives later must not get the lease of one that waits.
    if (!this.#last.has(key)) {
      const decision = await ask();
      if (!lacksLease(decision)) return decision;
    }
    const waitingOfKey = this.#waitingOf.get(key) ?? 0;
    if (this.#waiting >= mostWaiting || waitingOfKey >= mostWaitingOfKey) return ask();
    const endMs = monotonicMs() + this.#waitMs;
    const before = this.#last.get(key) ?? Promise.resolve();
    const ended = Promise.withResolvers<void>();
    const last = Promise.all([before, ended.promise]).then(() => undefined);
    this.#last.set(key, last);
    this.#waiting += 1;
    this.#waitingOf.set(key, waitingOfKey + 1);
    try {
      await Promise.race([before, pause(this.#waitMs, signal)]);
      for (;;) {
        const decision = await ask();
        const leftMs = endMs - monotonicMs();
        if (!lacksLease(decision) || leftMs <= 0 || signal.aborted) return decision;
        await pause(Math.min(askAgainMs, leftMs), signal);
      }
    } finally {
      this.#waiting -= 1;
      const left = (this.#waitingOf.get(key) ?? 1) - 1;
      if (left > 0) this.#waitingOf.set(key, left);
      else this.#waitingOf.delete(key);
      ended.resolve();
      void last.then(() => {
        if (this.#last.get(key) === last) this.#last.delete(key);
      });
    }
  }
}

/** The most requests that wait at one edge. Others are refused at once. */
const mostWaiting = 1_000;
/** The most of one token, so that none takes all the room of the others. */
const mostWaitingOfKey = 100;
const askAgainMs = 100;

/** What limits the requests at a time of a token: its group before itself. Undefined: nothing. */
function limitedKey(token: Token): string | undefined {
  if (!holdsLeases(token)) return undefined;
  const { tokenId, limits, group } = token;
  if (group?.limits?.concurrentRequests !== undefined) return `group:${group.groupId}`;
  return limits?.concurrentRequests === undefined ? undefined : `token:${tokenId}`;
}

function lacksLease({ refusal }: AdmissionDecision): boolean {
  return refusal?.limit === 'concurrency';
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return sleep(ms, { signal, ref: false }).catch(() => undefined);
}
