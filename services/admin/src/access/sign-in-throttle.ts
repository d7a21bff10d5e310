import { networkOf } from '@gateway/config';
import { epochMs } from '@gateway/time';
import { LRUCache } from 'lru-cache';

export { networkOf } from '@gateway/config';

/**
 * Slows down guessing of tokens. After ten wrong tokens within a minute the network of an address
 * has to wait. While more than a hundred fail a minute over all networks, each has one try. A
 * correct token is never delayed, so that no one behind the same proxy locks out operators.
 */
export class SignInThrottle {
  readonly #failures: LRUCache<string, number>;
  readonly #overall: LRUCache<'', number>;

  constructor() {
    // The minute begins with the first failure: further failures do not extend it.
    const window = { ttl: windowMs, noUpdateTTL: true, ttlResolution: 0, perf: { now: epochMs } };
    this.#failures = new LRUCache({ max: 10_000, ...window });
    this.#overall = new LRUCache({ max: 1, ...window });
  }

  /** Notes a wrong token. False: there were too many before it. */
  failed(address: string): boolean {
    const network = networkOf(address);
    const [ofNetwork, overall] = [this.#failures.get(network) ?? 0, this.#overall.get('') ?? 0];
    if (ofNetwork >= (overall < mostOverall ? mostOfNetwork : 1)) return false;
    this.#failures.set(network, ofNetwork + 1);
    this.#overall.set('', overall + 1);
    return true;
  }
}

const windowMs = 60_000;
const mostOfNetwork = 10;
const mostOverall = 100;
