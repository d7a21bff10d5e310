import { cacheTime } from '@gateway/time';
import { LRUCache } from 'lru-cache';
import type { AdminPeers } from '../parts.ts';
import { pagesOf, peerCall } from '../peer-calls.ts';

/** A changed label may show its old value for this long. */
const labelTtlMs = 30_000;
const maxLabels = 10_000;
/** The most ids or tokens in one call to identity. */
const tokensAtATime = 1_000;

/** The names of tokens: labels for people, ids for everything else. */
export class TokenNames {
  readonly #identity: AdminPeers['identity'];
  readonly #labels = new LRUCache<string, string>({ max: maxLabels, ttl: labelTtlMs, ...cacheTime });

  constructor(identity: AdminPeers['identity']) {
    this.#identity = identity;
  }

  /** Labels by ids. Tokens that identity does not know have none. */
  async labelsOf(tokenIds: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const labels = new Map<string, string>();
    const unknown: string[] = [];
    for (const tokenId of new Set(tokenIds)) {
      const label = this.#labels.get(tokenId);
      if (label !== undefined) labels.set(tokenId, label);
      else if (tokenId !== '') unknown.push(tokenId);
    }
    for (let start = 0; start < unknown.length; start += tokensAtATime) {
      const asked = { tokenIds: unknown.slice(start, start + tokensAtATime), includeRevoked: true };
      const { tokens } = await this.#identity.list(asked, peerCall(signal));
      for (const { tokenId, label } of tokens) {
        labels.set(tokenId, label);
        this.#labels.set(tokenId, label);
      }
    }
    return labels;
  }

  /**
   * The ids of the tokens that a text may mean: those with this id or label, otherwise those whose
   * ids begin with it.
   */
  async idsNamed(text: string, signal: AbortSignal): Promise<readonly string[]> {
    const asked = { includeRevoked: true, search: text, pageSize: tokensAtATime };
    const pages = pagesOf((pageToken) => this.#identity.list({ ...asked, pageToken }, peerCall(signal)));
    const found = (await Array.fromAsync(pages)).flatMap(({ tokens }) => tokens);
    const named = found.filter(({ tokenId, label }) => tokenId === text || label === text);
    const meant = named.length > 0 ? named : found.filter(({ tokenId }) => tokenId.startsWith(text));
    return meant.map(({ tokenId }) => tokenId);
  }
}
