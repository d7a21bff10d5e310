import { readFileSync } from 'node:fs';
import { type openRedis, type RedisOperation, runScript, scriptOf } from '@gateway/redis';

export interface RedisScriptsOptions {
  readonly redis: ReturnType<typeof openRedis>;
  readonly operation: RedisOperation;
  /** For tests only: replaces Redis' clock in every script. */
  readonly redisNowMs?: (() => number) | undefined;
}

/** Each is named as a whole, so that programs of the image include it. */
const files = {
  shared: new URL('./shared.lua', import.meta.url),
  admit: new URL('./admit.lua', import.meta.url),
  settled: new URL('./settled.lua', import.meta.url),
  settle: new URL('./settle.lua', import.meta.url),
  running: new URL('./running.lua', import.meta.url),
  reload: new URL('./reload.lua', import.meta.url),
  returned: new URL('./returned.lua', import.meta.url),
  'record-admissions': new URL('./record-admissions.lua', import.meta.url),
  heartbeat: new URL('./heartbeat.lua', import.meta.url),
  'admit-all': new URL('./admit-all.lua', import.meta.url),
  reserve: new URL('./reserve.lua', import.meta.url),
  'settle-all': new URL('./settle-all.lua', import.meta.url),
  renew: new URL('./renew.lua', import.meta.url),
  raise: new URL('./raise.lua', import.meta.url),
} as const;

/** All keys of one call share a hash tag, so that a cluster accepts each script. */
const scripts = {
  admit: readScript('admit'),
  settle: readScript('settled', 'settle'),
  reload: readScript('running', 'reload'),
  recordAdmissions: readScript('returned', 'record-admissions'),
  heartbeat: readScript('heartbeat'),
  admitAll: readScript('running', 'admit-all'),
  reserve: readScript('running', 'returned', 'reserve'),
  settleAll: readScript('running', 'settled', 'settle-all'),
  renew: readScript('running', 'renew'),
  raise: readScript('raise'),
};

/** Runs the limiter's scripts in Redis. */
export class RedisScripts {
  readonly #options: RedisScriptsOptions;

  constructor(options: RedisScriptsOptions) {
    this.#options = options;
  }

  /** The time of a test, or nothing, for the script that reads the clock. */
  get testTime(): number | '' {
    return this.#options.redisNowMs?.() ?? '';
  }

  /** Runs a script that returns numbers, or nothing. */
  async run(name: keyof typeof scripts, keys: readonly string[], terms: readonly (string | number)[]) {
    const reply = await this.#options.operation(name, () => runScript(this.#options.redis, scripts[name], keys, terms));
    const numbers = Array.isArray(reply) ? reply : [];
    if (numbers.every((each) => typeof each === 'number')) return numbers as readonly number[];
    throw new Error('a Redis script returned values that are not numbers');
  }
}

function readScript(...names: readonly (keyof typeof files)[]) {
  const texts = (['shared', ...names] as const).map((name) => readFileSync(files[name], 'utf8'));
  return scriptOf(texts.join('\n'));
}
