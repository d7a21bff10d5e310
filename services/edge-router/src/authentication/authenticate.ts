import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { networkOf, type TrustedProxies } from '@gateway/config';
import { GatewayError } from '@gateway/errors';
import type { IdentityService, Token } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { Client } from '@gateway/rpc';
import { epochMs, isWithin, sleep } from '@gateway/time';
import { parseTokenText, tokenSha256 } from '@gateway/tokens';
import { LRUCache } from 'lru-cache';
import type { LookupSlots } from './lookup-slots.ts';

export type AuthHeader = 'authorization' | 'x-api-key';

/**
 * Identifies the sender of a request. Clients also send keys of other services, so only a text in
 * the format of our tokens counts. The endpoint's own header is read first; if its token is
 * unknown, the other header is not tried. Throws `unauthorized`; texts that are not our tokens fail
 * by their checksum, without a lookup.
 * @see spec "Authentication"
 */
export async function authenticate(
  { headersDistinct: headers, socket }: Pick<IncomingMessage, 'headersDistinct' | 'socket'>,
  ownHeader: AuthHeader,
  { tokens, proxies }: { readonly tokens: Pick<TokenCache, 'resolve'>; readonly proxies: TrustedProxies },
): Promise<Token> {
  const otherHeader = ownHeader === 'authorization' ? 'x-api-key' : 'authorization';
  const own = tokenIn(headers, ownHeader);
  const presented = tokenIn(headers, otherHeader, own);
  // Operators' tokens are not accepted here.
  if (presented === undefined || presented.kind === 'operator')
    throw unauthorized('The token is missing or malformed.');
  const senderOf = () => networkOf(proxies.clientAddress(socket.remoteAddress, headers['x-forwarded-for']));
  const token = await tokens.resolve(tokenSha256(presented.text), senderOf);
  if (token === undefined) throw unauthorized('The token is unknown, revoked or expired.');
  return token;
}

type PresentedToken = NonNullable<ReturnType<typeof parseTokenText>> & { readonly text: string };

/**
 * Returns `earlier`, or else our token in this header. A repeated header is refused, because two
 * proxies could read it differently.
 */
function tokenIn(
  headers: IncomingMessage['headersDistinct'],
  header: AuthHeader,
  earlier?: PresentedToken,
): PresentedToken | undefined {
  const [value = '', another] = headers[header] ?? [];
  if (another !== undefined) throw unauthorized(`The header ${header} appears more than once.`);
  if (earlier !== undefined) return earlier;
  const text = patterns[header].exec(value)?.[1] ?? '';
  const parsed = parseTokenText(text);
  return parsed && { ...parsed, text };
}

const patterns = { authorization: /^Bearer +(\S+)$/i, 'x-api-key': /^(\S+)$/ } as const;

function unauthorized(message: string): GatewayError {
  return new GatewayError('unauthorized', message);
}

export interface TokenCacheOptions {
  /** Asks the source of truth; undefined for a token that is unknown, revoked or expired. */
  readonly resolve: (tokenSha256: Buffer) => Promise<Token | undefined>;
  /** How long a known token is trusted without asking again. */
  readonly freshMs: number;
  /** Bounds how many lookups of unknown tokens run concurrently. */
  readonly slots: LookupSlots;
  /** Called when the source can't be reached and the last known answer is used. */
  readonly onStale?: (fault: unknown) => void;
}

/**
 * Resolved tokens. While the source of truth is away, the last known answer is used; a token once
 * found revoked is never accepted from here again. A token with an expiry is accepted until then
 * without asking.
 */
export class TokenCache {
  readonly #options: TokenCacheOptions;
  /** Outdated tokens are kept: while the source is away, a known token is better than a refusal. */
  readonly #known = new LRUCache<string, { readonly token: Token; resolvedAtMs: number }>(bounded(100_000));
  /**
   * Since when a token counts as unknown. Bounded, so that guessing floods do not fill the memory.
   */
  readonly #unknownSinceMs = new LRUCache<string, number>(bounded(10_000));
  readonly #lookups = new Map<string, Promise<Token | undefined>>();
  /** How many changes of tokens were announced. */
  #changes = 0;

  constructor(options: TokenCacheOptions) {
    this.#options = options;
  }

  /**
   * The token with this digest; undefined when it is unknown, revoked or expired. Throws when the
   * source can't answer, and when too many lookups of unknown tokens are waiting. `senderOf` names
   * the sender's network, for fair queueing.
   */
  async resolve(tokenSha256: Buffer, senderOf: () => string = () => ''): Promise<Token | undefined> {
    const key = tokenSha256.toString('latin1');
    const { freshMs, slots } = this.#options;
    const nowMs = epochMs();
    const known = this.#known.get(key);
    if (known !== undefined && isWithin(freshMs, known.resolvedAtMs, nowMs)) return this.#unexpired(known.token);
    if (isWithin(unknownFreshMs, this.#unknownSinceMs.get(key) ?? never, nowMs)) return undefined;
    let lookup = this.#lookups.get(key);
    if (lookup === undefined) {
      const lookUp = () => this.#lookUp(key, tokenSha256);
      // A token that was known is not a guess, so it never waits behind possible guesses.
      const begun = known === undefined ? slots.run(senderOf(), lookUp) : lookUp();
      lookup = begun.finally(() => this.#lookups.delete(key));
      this.#lookups.set(key, lookup);
    }
    return this.#unexpired(await lookup);
  }

  /**
   * Called when these tokens, or any tokens, may have changed: the next request asks again, and so
   * does a lookup in flight before it answers.
   */
  expire(tokenIds?: readonly string[]): void {
    this.#changes += 1;
    const changed = tokenIds && new Set(tokenIds);
    for (const known of this.#known.values()) {
      if (changed?.has(known.token.tokenId) ?? true) known.resolvedAtMs = never;
    }
  }

  #unexpired(token: Token | undefined): Token | undefined {
    if (token?.expiresAtMs === undefined) return token;
    return epochMs() < token.expiresAtMs ? token : undefined;
  }

  async #lookUp(key: string, tokenSha256: Buffer): Promise<Token | undefined> {
    const { resolve, onStale } = this.#options;
    try {
      for (;;) {
        const changesBefore = this.#changes;
        const token = await resolve(tokenSha256);
        if (token === undefined) {
          this.#known.delete(key);
          this.#unknownSinceMs.set(key, epochMs());
          return undefined;
        }
        // The source may have read the token before the change: then it is asked again.
        const isFresh = this.#changes === changesBefore;
        this.#known.set(key, { token, resolvedAtMs: isFresh ? epochMs() : never });
        if (isFresh) return token;
      }
    } catch (fault) {
      const lastKnown = this.#known.get(key);
      if (lastKnown === undefined) throw fault;
      onStale?.(fault);
      return lastKnown.token;
    }
  }
}

const unknownFreshMs = 5_000;
const never = Number.NEGATIVE_INFINITY;

/** Bounded by size instead of `max`, because `max` allocates all memory up front. */
function bounded(maxSize: number) {
  return { maxSize, sizeCalculation: () => 1 };
}

/**
 * Expires changed tokens in the cache as identity reports them. Ends with the signal. A lost stream
 * is reopened, and its first message expires everything, because changes may have been missed in
 * the meantime. Calls `onOpened` each time that identity answers.
 */
export async function watchTokenChanges(
  identity: Client<typeof IdentityService>,
  tokens: TokenCache,
  signal: AbortSignal,
  onOpened?: () => void,
): Promise<void> {
  while (!signal.aborted) {
    try {
      let isFirst = true;
      for await (const { tokenIds } of identity.watchChanges({}, { signal })) {
        tokens.expire(isFirst ? undefined : tokenIds);
        if (isFirst) onOpened?.();
        isFirst = false;
      }
    } catch {
      // Identity is away: cached tokens become outdated by their age, and the stream is reopened.
    }
    await sleep(reconnectMs, { signal }).catch(() => undefined);
  }
}

const reconnectMs = 250;

/**
 * A token's opaque key for services that distinguish callers: the same for each of its requests,
 * and without readable content.
 */
export function callerKey(tokenId: string): string {
  return hash('sha256', `caller\n${tokenId}`, 'base64url').slice(0, callerKeyLength);
}

/** 120 bits: enough that keys are unique, and short enough for labels of requests. */
const callerKeyLength = 20;
