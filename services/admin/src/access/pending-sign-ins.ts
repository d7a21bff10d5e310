import { createHmac, timingSafeEqual } from 'node:crypto';
import type { GatewayDatabase } from '@gateway/database';
import { epochMs, randomBytes } from '@gateway/time';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { PendingSignIn } from './oidc-provider.ts';

/** Long enough for a second factor. */
export const pendingSeconds = 600;

/**
 * Sign-ins in progress at the OpenID Connect provider, as browsers keep them in a cookie. The
 * cookie is authenticated, so that a forged one does not make this service call the provider. All
 * replicas share one key, and each replica accepts a cookie once.
 */
export class PendingSignIns {
  readonly #database: GatewayDatabase;
  readonly #used: LRUCache<string, true>;
  #key: Promise<Buffer> | undefined;

  constructor(database: GatewayDatabase) {
    this.#database = database;
    this.#used = new LRUCache({ max: 10_000, ttl: pendingSeconds * 1_000, ttlResolution: 0, perf: { now: epochMs } });
  }

  async toCookie(pending: PendingSignIn): Promise<string> {
    const text = Buffer.from(JSON.stringify({ ...pending, begunAtMs: epochMs() })).toString('base64url');
    return `${text}.${(await this.#tagOf(text)).toString('base64url')}`;
  }

  /** Undefined if the cookie is not from this service, is too old, or was used already. */
  async fromCookie(value = ''): Promise<PendingSignIn | undefined> {
    const [text = '', given = ''] = value.split('.');
    const [tag, givenTag] = [await this.#tagOf(text), Buffer.from(given, 'base64url')];
    if (givenTag.length !== tag.length || !timingSafeEqual(givenTag, tag)) return undefined;
    const { begunAtMs, ...pending } = pendingSignIn.parse(JSON.parse(Buffer.from(text, 'base64url').toString()));
    if (epochMs() >= begunAtMs + pendingSeconds * 1_000 || this.#used.has(pending.state)) return undefined;
    this.#used.set(pending.state, true);
    return pending;
  }

  async #tagOf(text: string): Promise<Buffer> {
    this.#key ??= this.#sharedKey();
    const key = await this.#key.catch((thrown: unknown) => {
      this.#key = undefined;
      throw thrown;
    });
    return createHmac('sha256', key).update(text).digest();
  }

  /** The first replica that needs the key creates it. */
  async #sharedKey(): Promise<Buffer> {
    const made = { purpose, secret: randomBytes(32).toString('base64url'), created_at_ms: epochMs() };
    await this.#database
      .insertInto('admin_keys')
      .values(made)
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    const { secret } = await this.#database
      .selectFrom('admin_keys')
      .select('secret')
      .where('purpose', '=', purpose)
      .executeTakeFirstOrThrow();
    return Buffer.from(secret, 'base64url');
  }
}

const purpose = 'oidc_cookie';

const pendingSignIn = z.object({
  state: z.string(),
  nonce: z.string(),
  codeVerifier: z.string(),
  returnTo: z.string(),
  userCode: z.string().optional(),
  forLookups: z.boolean().optional(),
  begunAtMs: z.number(),
});
