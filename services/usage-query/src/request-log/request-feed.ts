import type { GatewayDatabase } from '@gateway/database';
import type { RequestRecorded } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import type { Logger } from '@gateway/telemetry';
import { addLocalDays, localDayOf, sleep } from '@gateway/time';
import { sql } from 'kysely';
import { matches, readRequest, requestColumns, type Search } from './request-search.ts';

/** How often the log is polled while it is watched. */
const usualPollMs = 1_000;
/**
 * How often a watcher receives a message, even an empty one to show that the connection is alive.
 */
const heartbeatMs = 15_000;
/** Rows read in one statement. */
const rowsAtATime = 1_000;
/** Rows of several writers become visible out of order, but not later than this. */
const overlapMs = 2_000;

/**
 * Sends watchers matching requests as they are added to the log. One poll serves all watchers;
 * without watchers it does not poll.
 */
export class RequestFeed implements AsyncDisposable {
  readonly #database: GatewayDatabase;
  readonly #logger: Logger;
  readonly #pollMs: number;
  readonly #stopping = new AbortController();
  readonly #watchers = new Set<Watcher>();
  /** The time of the newest row seen, and the times of recent rows. */
  #latestMs = 0;
  readonly #seen = new Map<string, number>();
  #begun: Promise<void> | undefined;
  #looking: Promise<void> = Promise.resolve();

  constructor(database: GatewayDatabase, logger: Logger, pollMs = usualPollMs) {
    this.#database = database;
    this.#logger = logger;
    this.#pollMs = pollMs;
  }

  /**
   * Requests added to the log, and how many matching ones were left out, until the signal is
   * aborted or the feed stops. The first message is empty: every request added to the log after it
   * is delivered.
   */
  async *watch(search: Search, mostAtOnce: number, signal: AbortSignal) {
    const until = AbortSignal.any([signal, this.#stopping.signal]);
    const watcher = new Watcher(search, mostAtOnce);
    this.#watchers.add(watcher);
    try {
      this.#begun ??= this.#begin();
      await this.#begun;
      yield { requests: [], leftOut: 0 };
      for (;;) {
        await watcher.wait(until);
        if (until.aborted) return;
        yield watcher.take();
      }
    } finally {
      this.#watchers.delete(watcher);
    }
  }

  /**
   * Watches never end by themselves, so they are ended here: their callers move to another replica.
   */
  stop(): void {
    this.#stopping.abort();
  }

  /** When this resolves, nothing is read from the database any more. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.stop();
    await this.#looking;
  }

  async #begin(): Promise<void> {
    try {
      const newest = this.#database.selectFrom('request_log').select(({ fn }) => fn.max('logged_at_ms').as('at'));
      this.#latestMs = (await newest.executeTakeFirst())?.at ?? 0;
      this.#seen.clear();
      for await (const _ of this.#fresh());
    } catch (thrown) {
      this.#begun = undefined;
      throw thrown;
    }
    this.#looking = this.#lookOn();
  }

  async #lookOn(): Promise<void> {
    const { signal } = this.#stopping;
    while (this.#watchers.size > 0 && !signal.aborted) {
      await sleep(this.#pollMs, { signal, ref: false }).catch(() => undefined);
      try {
        for await (const rows of this.#fresh()) for (const watcher of this.#watchers) watcher.offer(rows);
      } catch (thrown) {
        this.#logger.warn({ err: thrown }, 'could not read new requests; retrying');
      }
    }
    this.#begun = undefined;
  }

  /** The rows added to the log since the last poll, in slices. */
  async *#fresh(): AsyncGenerator<readonly FreshRow[]> {
    // Requests of the previous day may end now.
    const firstDay = addLocalDays(localDayOf(this.#latestMs), -1);
    for (let [atMs, requestId] = [this.#latestMs - overlapMs, '']; ; ) {
      const rows = await this.#database
        .selectFrom('request_log')
        .select([...requestColumns, 'logged_at_ms'])
        .where('local_day', '>=', firstDay)
        .where(sql<boolean>`(logged_at_ms, request_id) > (${atMs}, ${requestId})`)
        .orderBy('logged_at_ms')
        .orderBy('request_id')
        .limit(rowsAtATime)
        .execute();
      const fresh = rows.filter(({ request_id }) => !this.#seen.has(request_id));
      for (const { request_id, logged_at_ms } of fresh) this.#seen.set(request_id, logged_at_ms);
      yield fresh.map(decodedOnce);
      const last = rows.at(-1);
      this.#latestMs = Math.max(this.#latestMs, last?.logged_at_ms ?? 0);
      if (rows.length < rowsAtATime || last === undefined) break;
      [atMs, requestId] = [last.logged_at_ms, last.request_id];
    }
    for (const [id, atMs] of this.#seen) if (atMs < this.#latestMs - overlapMs) this.#seen.delete(id);
  }
}

type FreshRow = () => RequestRecorded;

/**
 * Decoded on demand: of hundreds of requests a second, a watcher of all requests receives only a
 * few.
 */
function decodedOnce(row: Parameters<typeof readRequest>[0]): FreshRow {
  let request: RequestRecorded | undefined;
  return () => {
    request ??= readRequest(row);
    return request;
  };
}

/** The requests that one watcher has not received yet. */
class Watcher {
  readonly #search: Search;
  readonly #mostAtOnce: number;
  #rows: readonly FreshRow[] = [];
  #leftOut = 0;
  #wake = new AbortController();

  constructor(search: Search, mostAtOnce: number) {
    this.#search = search;
    this.#mostAtOnce = mostAtOnce;
  }

  offer(rows: readonly FreshRow[]): void {
    const isOfAll = this.#search.criteria.length === 0;
    const matching = isOfAll ? rows : rows.filter((row) => matches(this.#search, row()));
    if (matching.length === 0) return;
    const all = [...this.#rows, ...matching];
    this.#rows = all.slice(-this.#mostAtOnce);
    this.#leftOut += all.length - this.#rows.length;
    this.#wake.abort();
  }

  /** Waits until there is something to send, or until a heartbeat is due. */
  async wait(signal: AbortSignal): Promise<void> {
    const wake = AbortSignal.any([signal, this.#wake.signal]);
    await sleep(heartbeatMs, { signal: wake, ref: false }).catch(() => undefined);
  }

  take() {
    const taken = { requests: this.#rows.map((row) => row()), leftOut: this.#leftOut };
    [this.#rows, this.#leftOut, this.#wake] = [[], 0, new AbortController()];
    return taken;
  }
}
