import { networkOf } from '@gateway/config';
import type { Clock } from '@gateway/time';
import { LRUCache } from 'lru-cache';

export { networkOf } from '@gateway/config';

/**
 * Slows down guessing of tokens. After ten wrong tokens within a minute an address has to wait.
 * While more than a hundred fail a minute over all addresses, each address has one try. A token
 * that was correct here in the last hour is never delayed, so that an attacker behind the same
 * proxy does not lock out operators at work.
 */
export class SignInThrottle {
  readonly #failures: LRUCache<string, number>;
  readonly #overall: LRUCache<'', number>;
  readonly #known: LRUCache<string, true>;

  constructor(clock: Clock) {
    const perf = { now: () => clock.nowMs() };
    // The minute begins with the first failure: further failures do not extend it.
    const window = { ttl: windowMs, noUpdateTTL: true, ttlResolution: 0, perf };
    this.#failures = new LRUCache({ max: 10_000, ...window });
    this.#overall = new LRUCache({ max: 1, ...window });
    this.#known = new LRUCache({ max: 10_000, ttl: knownMs, ttlResolution: 0, perf });
  }

  /** Whether a token may be looked up. */
  allows(address: string, tokenHash: string): boolean {
    if (this.#known.has(tokenHash)) return true;
    const most = (this.#overall.get('') ?? 0) < mostOverall ? mostOfAddress : 1;
    return (this.#failures.get(networkOf(address)) ?? 0) < most;
  }

  failed(address: string): void {
    const network = networkOf(address);
    this.#failures.set(network, (this.#failures.get(network) ?? 0) + 1);
    this.#overall.set('', (this.#overall.get('') ?? 0) + 1);
  }

  succeeded(tokenHash: string): void {
    this.#known.set(tokenHash, true);
  }
}

const windowMs = 60_000;
const mostOfAddress = 10;
const mostOverall = 100;
const knownMs = 3_600_000;
