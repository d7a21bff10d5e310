import { readFileSync } from 'node:fs';
import { type openRedis, type RedisOperation, runScript, scriptOf } from '@gateway/redis';
import { z } from 'zod';

export interface RedisScriptOptions {
  readonly redis: ReturnType<typeof openRedis>;
  readonly operation: RedisOperation;
  /** For tests only: replaces Redis' clock. */
  readonly redisNowMs?: (() => number) | undefined;
}

const script = scriptOf(readFileSync(new URL('./meters.lua', import.meta.url), 'utf8'));

/** Runs the calls of `meters.lua` in Redis. */
export class RedisScript {
  readonly #options: RedisScriptOptions;

  constructor(options: RedisScriptOptions) {
    this.#options = options;
  }

  /** `keys`: those that the terms refer to by position. They share a hash tag in a cluster. */
  async run<Name extends keyof typeof answers>(name: Name, keys: KeyList, terms: object) {
    const { redis, operation, redisNowMs } = this.#options;
    const text = JSON.stringify(terms);
    const reply = await operation(name, () => runScript(redis, script, keys.names, [name, text, redisNowMs?.() ?? '']));
    return answers[name].parse(reply === null ? {} : JSON.parse(String(reply))) as z.infer<(typeof answers)[Name]>;
  }
}

/** The keys of one call. The script finds each by its position, from 1. */
export class KeyList {
  readonly #positions = new Map<string, number>();

  get names(): readonly string[] {
    return [...this.#positions.keys()];
  }

  at(name: string): number {
    return this.#positions.getOrInsert(name, this.#positions.size + 1);
  }

  leasesAt({ amounts, expiries }: { readonly amounts: string; readonly expiries: string }, lifetime: number) {
    return { amounts: this.at(amounts), expiries: this.at(expiries), lifetime };
  }
}

const state = z.object({
  used: z.coerce.number(),
  reserved: z.coerce.number().default(0),
  newest: z.number().optional(),
  freeing: z.number().optional(),
  unloaded: z.boolean().default(false),
  unknown: z.boolean().default(false),
});

export type StateReply = z.infer<typeof state>;

/** What each call answers. */
const answers = {
  take: z.object({
    now: z.number(),
    /** Absent when the keys are named for another local day. */
    answers: z.array(z.object({ taken: z.boolean(), states: z.array(state).default([]) })).optional(),
  }),
  settle: z.object({ totals: z.array(z.object({ used: z.coerce.number(), loaded: z.boolean() })).default([]) }),
  renew: z.object({}),
  give_back: z.object({}),
  record: z.object({}),
  raise: z.object({}),
  reload: z.object({
    before: z.coerce.number().optional(),
    used: z.coerce.number(),
    pending: z.coerce.number(),
    unasked: z.coerce.number(),
  }),
  heartbeat: z.object({
    replicas: z.number(),
    position: z.number(),
    longest_silence: z.number(),
    now: z.number(),
    is_new: z.boolean(),
  }),
} as const;
