import type { Redis } from 'ioredis';
import { type PoolVerb, poolScript } from './redis-scripts.ts';

/**
 * Runs verbs of the script. What is asked in one turn of the event loop goes out as one call: most of what a verb costs, on
 * both sides, is the call. Order is kept.
 */
export class RedisVerbs {
  readonly #redis: Redis;
  #asked: Asked[] = [];

  constructor(redis: Redis) {
    this.#redis = redis;
  }

  /** What the verb answers. Fails when the call does, whose verbs before this one may have been done. */
  run(verb: PoolVerb, keys: readonly string[], parameters: readonly Parameter[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const waiting = this.#asked.push({ verb, keys, parameters, resolve, reject });
      // After everything that the network has brought in this turn.
      if (waiting === 1) setImmediate(() => this.#askAll());
    });
  }

  #askAll(): void {
    const asked = this.#asked;
    this.#asked = [];
    for (let start = 0; start < asked.length; start += mostInOneCall) {
      void this.#ask(asked.slice(start, start + mostInOneCall));
    }
  }

  async #ask(asked: readonly Asked[]): Promise<void> {
    try {
      const answers = await this.#call(asked);
      if (!Array.isArray(answers) || answers.length !== asked.length) {
        throw new Error('a script did not answer what it was asked');
      }
      asked.forEach(({ resolve }, index) => {
        resolve(answers[index]);
      });
    } catch (thrown) {
      for (const { reject } of asked) reject(thrown);
    }
  }

  /** By the script's digest. A Redis that does not know it, because it was restarted or replaced, learns it. */
  async #call(asked: readonly Asked[]): Promise<unknown> {
    const keys = new Places();
    const verbs = asked.map((each) => [each.verb, each.keys.map((key) => keys.of(key)), each.parameters]);
    // As one text: what a command costs on its way is its arguments more than their length.
    const parameters = JSON.stringify(verbs);
    try {
      return await this.#redis.evalsha(poolScript.sha1, keys.count, ...keys.all, parameters);
    } catch (thrown) {
      // Nothing of it has run, so that it is not done twice.
      if (!(thrown instanceof Error) || !thrown.message.startsWith('NOSCRIPT')) throw thrown;
      return await this.#redis.eval(poolScript.lua, keys.count, ...keys.all, parameters);
    }
  }
}

/** What JSON and Lua have alike. */
type Parameter = string | number | boolean;

/** Where keys are in a list that has each once, from 1. */
class Places {
  readonly #places = new Map<string, number>();

  get count(): number {
    return this.#places.size;
  }

  get all(): Iterable<string> {
    return this.#places.keys();
  }

  of(key: string): number {
    const known = this.#places.get(key);
    if (known !== undefined) return known;
    this.#places.set(key, this.#places.size + 1);
    return this.#places.size;
  }
}

interface Asked {
  readonly verb: PoolVerb;
  readonly keys: readonly string[];
  readonly parameters: readonly Parameter[];
  readonly resolve: (answer: unknown) => void;
  readonly reject: (thrown: unknown) => void;
}

/** Redis does nothing else while a script runs: so many verbs take about a millisecond. */
const mostInOneCall = 100;
