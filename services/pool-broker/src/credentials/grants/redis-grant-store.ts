import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { Claim, GrantKey, GrantStore, StoredGrant } from './grant-store.ts';

/** Grants in Redis, for brokers without a database. They are as durable as that Redis is. */
export class RedisGrantStore implements GrantStore {
  readonly #redis: Redis;
  readonly #prefix: string;

  /** The connection stays the caller's. */
  constructor(redis: Redis, keyPrefix = 'pool:') {
    this.#redis = redis;
    this.#prefix = keyPrefix;
  }

  async read(key: GrantKey): Promise<StoredGrant | undefined> {
    return toGrant(await this.#redis.hget(this.#redisKey(key), 'grant'));
  }

  async lastFence(key: GrantKey): Promise<number> {
    return Number((await this.#redis.hget(this.#redisKey(key), 'fence')) ?? 0);
  }

  async claim(key: GrantKey, fence: number): Promise<Claim> {
    const answer = await this.#redis.eval(claimScript, 1, this.#redisKey(key), fence, keptForMs);
    if (typeof answer !== 'string') return { kind: 'superseded' };
    return { kind: 'claimed', grant: toGrant(answer) };
  }

  async save(key: GrantKey, grant: StoredGrant): Promise<boolean> {
    const text = JSON.stringify(grant);
    return (
      (await this.#redis.eval(
        saveScript,
        1,
        this.#redisKey(key),
        text,
        grant.version - 1,
        grant.version,
        keptForMs,
      )) === 1
    );
  }

  async problems(keys: readonly GrantKey[]): Promise<ReadonlyMap<string, string>> {
    const found = await Promise.all(keys.map(async (key) => [key.accountId, (await this.read(key))?.problem] as const));
    return new Map(found.flatMap(([accountId, problem]) => (problem === undefined ? [] : [[accountId, problem]])));
  }

  #redisKey({ accountId, origin }: GrantKey): string {
    return `${this.#prefix}{account:${accountId}}:grant:${origin}`;
  }
}

// Refresh tokens that nobody has used for so long are hardly good any more.
const keptForMs = 400 * 86_400_000;

/** KEYS: grant. ARGV: fence, TTL in ms. Answers the grant ("" when there is none), or 0 to one who comes too late. */
const claimScript = `
if tonumber(ARGV[1]) <= tonumber(redis.call('HGET', KEYS[1], 'fence') or '0') then return 0 end
redis.call('HSET', KEYS[1], 'fence', ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return redis.call('HGET', KEYS[1], 'grant') or ''`;

/** KEYS: grant. ARGV: grant, version before, version, TTL in ms. */
const saveScript = `
local version = redis.call('HGET', KEYS[1], 'version') or '0'
if version ~= ARGV[2] then
  if version == ARGV[3] and redis.call('HGET', KEYS[1], 'grant') == ARGV[1] then return 1 end
  return 0
end
redis.call('HSET', KEYS[1], 'grant', ARGV[1], 'version', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1`;

const grantSchema = z.object({
  version: z.int(),
  tokens: z.object({ keyId: z.string(), text: z.string() }),
  problem: z.string().optional(),
});

function toGrant(text: string | null): StoredGrant | undefined {
  if (text === null || text === '') return undefined;
  const { version, tokens, problem } = grantSchema.parse(JSON.parse(text));
  return { version, tokens, problem };
}
