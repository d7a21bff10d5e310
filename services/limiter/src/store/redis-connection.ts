import type { Logger } from '@gateway/telemetry';
import { Redis } from 'ioredis';
import { reasonOf } from './failure-reason.ts';
import type { RedisScript } from './redis-script.ts';

export interface RedisConnectionOptions {
  /** redis:// or rediss:// */
  readonly url: string;
  /** How long a call may take, its one repetition included. */
  readonly commandTimeoutMs: number;
  readonly logger: Logger;
}

/** How long a start waits for Redis before it goes on without. */
const startTimeoutMs = 2_000;

/** Runs scripts on one Redis, within a deadline. Scripts must be repeatable: a call that failed may have been applied. */
export class RedisConnection implements AsyncDisposable {
  readonly #redis: Redis;
  readonly #timeoutMs: number;
  readonly #logger: Logger;
  #nextReady = Promise.withResolvers<void>();
  #isGathering = false;

  constructor({ url, commandTimeoutMs, logger }: RedisConnectionOptions) {
    this.#timeoutMs = commandTimeoutMs;
    this.#logger = logger;
    this.#redis = new Redis(url, {
      lazyConnect: true,
      // Nothing waits for a connection, and nothing is sent twice behind our back: the caller decides at once.
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      autoResendUnfulfilledCommands: false,
      connectTimeout: startTimeoutMs,
      // A connection that went silent is dropped: the network may have lost it without a word.
      socketTimeout: Math.max(1_000, 5 * commandTimeoutMs),
      retryStrategy: (attempt) => Math.min(20 * attempt, 500),
      // After a failover the old primary answers as a read-only replica: the address leads to the new one.
      reconnectOnError: (error) => error.message.startsWith('READONLY'),
    });
    this.#redis.on('ready', () => {
      this.#nextReady.resolve();
      this.#nextReady = Promise.withResolvers<void>();
    });
    this.#redis.on('error', (error) => logger.debug({ reason: reasonOf(error) }, 'the connection to Redis failed'));
  }

  /** Connects. Fails when Redis is not there in time; the connection is tried further in the background. */
  async start(): Promise<void> {
    this.#redis.connect().catch(() => undefined);
    await within(startTimeoutMs, this.#whenReady());
    await this.#warnIfKeysCanBeEvicted();
  }

  /**
   * Fails when Redis does not answer in time, or can't keep anything: its memory is full, it is a replica, its disk fails.
   * A ping would be answered all the same.
   */
  async tryWrite(key: string): Promise<void> {
    await within(this.#timeoutMs, this.#redis.set(key, '', 'PX', 1_000));
  }

  /** Runs a script; texts in its reply are bytes. Repeats it once when the connection broke and comes back in time. */
  async run(script: RedisScript, keys: readonly string[], parameters: readonly (string | number)[]): Promise<unknown> {
    const deadlineMs = performance.now() + this.#timeoutMs;
    try {
      return await within(this.#timeoutMs, this.#evaluate(script, keys, parameters));
    } catch (thrown) {
      if (!isConnectionLoss(thrown)) throw thrown;
    }
    await within(deadlineMs - performance.now(), this.#whenReady());
    return within(deadlineMs - performance.now(), this.#evaluate(script, keys, parameters));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#redis.disconnect();
  }

  #whenReady(): Promise<void> {
    return this.#redis.status === 'ready' ? Promise.resolve() : this.#nextReady.promise;
  }

  async #evaluate({ sha1, lua }: RedisScript, keys: readonly string[], parameters: readonly (string | number)[]) {
    this.#gather();
    try {
      return await this.#redis.callBuffer('evalsha', [sha1, keys.length, ...keys, ...parameters]);
    } catch (thrown) {
      // A Redis that was restarted knows no scripts; EVAL makes it learn this one.
      if (!isReply(thrown) || !thrown.message.startsWith('NOSCRIPT')) throw thrown;
      return await this.#redis.callBuffer('eval', [lua, keys.length, ...keys, ...parameters]);
    }
  }

  /** What is sent in one tick is written at once: on both sides, a write costs as much as deciding several requests. */
  #gather(): void {
    if (this.#isGathering || this.#redis.status !== 'ready') return;
    this.#isGathering = true;
    const { stream } = this.#redis;
    stream.cork();
    process.nextTick(() => {
      this.#isGathering = false;
      stream.uncork();
    });
  }

  /** Evicted keys are limits forgotten without a trace. */
  async #warnIfKeysCanBeEvicted(): Promise<void> {
    const memory = await within(this.#timeoutMs, this.#redis.info('memory')).catch(() => '');
    const policy = /^maxmemory_policy:(\S+)/m.exec(memory)?.[1];
    if (policy !== undefined && policy !== 'noeviction') {
      this.#logger.warn({ policy }, 'Redis may evict limits when its memory is full: set maxmemory-policy noeviction');
    }
  }
}

class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
}

function within<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new DeadlineError(`no answer within ${Math.round(timeoutMs)} ms`));
    // A process that was held up itself may have the answer at its door: that is read first.
    const timer = setTimeout(() => setImmediate(late), Math.max(0, timeoutMs));
    work.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (thrown) => {
        clearTimeout(timer);
        reject(thrown);
      },
    );
  });
}

/** The connection broke before the answer; whether the command was applied is not known. */
function isConnectionLoss(thrown: unknown): boolean {
  if (isReply(thrown) || thrown instanceof DeadlineError) return false;
  return thrown instanceof Error;
}

/** Redis answered, with an error. */
function isReply(thrown: unknown): thrown is Error {
  return thrown instanceof Error && thrown.name === 'ReplyError';
}
