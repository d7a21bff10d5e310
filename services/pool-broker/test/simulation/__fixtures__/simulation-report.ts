import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import type { Report, SimulatedAccount } from './simulated-account.ts';
import type { ClientRequest, Observer, Refusal } from './simulated-clients.ts';
import type { VirtualTime } from './virtual-time.ts';

/** How long it may take to detect that an account serves again, depending on what prevented it. */
export type KnowledgeLag = (skipReason: SimulatedAccount['lastFault']) => number;

/** The account's last report: that it is limited until then. */
interface Limit {
  readonly untilMs: number;
  /** The number of requests sent to it since. */
  contacts: number;
}

/** Counts how well a pool does, based on the true state of its accounts. */
export class SimulationReport implements Observer {
  readonly #time: VirtualTime;
  readonly #accounts: ReadonlyMap<string, SimulatedAccount>;
  readonly #lagMs: KnowledgeLag;
  readonly #limits = new Map<string, Limit>();
  readonly #resetAtMs = new Map<string, number>();
  readonly #guessedFor = new Set<number>();
  readonly results = new Map<AttemptResult, number>();
  requests = 0;
  servedRequests = 0;
  exhausted = 0;
  unavailable = 0;
  /** Requests refused although an account had been serving for long enough to be known. */
  refusedInError: string[] = [];
  /**
   * The highest number of requests that an account received between reporting a limit and the
   * limit's end, or its next answer.
   */
  mostContactsInCooldown = 0;
  probesInCooldown = 0;
  /**
   * Accounts that their providers disabled, and the requests sent to them before they were enabled
   * again.
   */
  readonly outOfService = new Set<string>();
  takenOutOfService = 0;
  sentOutOfService = 0;
  /**
   * Clients that retried exactly at the time they were given, by whether providers had named it.
   */
  readonly named = { came: 0, served: 0 };
  readonly guessed = { came: 0, served: 0 };
  readonly recoveriesMs: number[] = [];

  constructor(time: VirtualTime, accounts: ReadonlyMap<string, SimulatedAccount>, lagMs: KnowledgeLag) {
    this.#time = time;
    this.#accounts = accounts;
    this.#lagMs = lagMs;
  }

  noteEarlyReset(accountId: string): void {
    if (this.#limits.has(accountId)) this.#resetAtMs.set(accountId, this.#time.nowMs);
  }

  get unrecovered(): number {
    return this.#resetAtMs.size;
  }

  noteEnabled(accountId: string): void {
    this.outOfService.delete(accountId);
  }

  sent(accountId: string): void {
    if (this.outOfService.has(accountId)) this.sentOutOfService += 1;
    const limit = this.#limits.get(accountId);
    if (limit === undefined || this.#time.nowMs >= limit.untilMs) return;
    limit.contacts += 1;
    this.probesInCooldown += 1;
    this.mostContactsInCooldown = Math.max(this.mostContactsInCooldown, limit.contacts);
  }

  answered(accountId: string, { result = AttemptResult.UNSPECIFIED, retryAtMs, problem }: Report): void {
    if (problem !== undefined && !this.outOfService.has(accountId)) {
      this.outOfService.add(accountId);
      this.takenOutOfService += 1;
    }
    this.results.set(result, (this.results.get(result) ?? 0) + 1);
    this.#limits.delete(accountId);
    const resetAtMs = this.#resetAtMs.get(accountId);
    this.#resetAtMs.delete(accountId);
    if (result === AttemptResult.SUCCEEDED && resetAtMs !== undefined) {
      this.recoveriesMs.push(this.#time.nowMs - resetAtMs);
    }
    if (result !== AttemptResult.RATE_LIMITED || retryAtMs === undefined) return;
    this.#limits.set(accountId, { untilMs: retryAtMs, contacts: 0 });
  }

  served(request: ClientRequest): void {
    this.servedRequests += 1;
    this.#count(request, true);
  }

  refused(request: ClientRequest, { kind, retryAtMs, errors }: Refusal): void {
    this.#count(request, false);
    this[kind] += 1;
    if (retryAtMs !== undefined && this.#isGuess()) this.#guessedFor.add(request.id);
    // After errors a request may give up although other accounts remain.
    if (errors > 0) return;
    const { nowMs } = this.#time;
    for (const account of this.#accounts.values()) {
      const sinceMs = account.usableSinceMs(nowMs);
      if (sinceMs === undefined || nowMs - sinceMs <= this.#lagMs(account.lastFault)) continue;
      this.refusedInError.push(`${kind} at ${nowMs}, though ${account.id} serves since ${sinceMs}`);
      return;
    }
  }

  #count({ id, cameBack }: ClientRequest, served: boolean): void {
    if (cameBack !== true) {
      this.requests += 1;
      return;
    }
    const counts = this.#guessedFor.has(id) ? this.guessed : this.named;
    counts.came += 1;
    counts.served += served ? 1 : 0;
  }

  /** True while an account is limited without a reported end. */
  #isGuess(): boolean {
    const { nowMs } = this.#time;
    return this.#accounts
      .values()
      .some(
        (account) => account.lastFault === AttemptResult.RATE_LIMITED && account.usableSinceMs(nowMs) === undefined,
      );
  }
}
