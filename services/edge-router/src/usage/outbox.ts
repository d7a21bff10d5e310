import { setTimeout as sleep } from 'node:timers/promises';
import { narrowMode } from '@gateway/config';
import type { RequestLogged } from '@gateway/proto/usage/v1/request_log_pb.js';
import type { UsageRecorded } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import type { OutboxEvents } from './outbox-events.ts';
import { abandonedRows, batchRows, bytesIn, isDamage, OutboxFile, type OutboxSynchronous } from './outbox-file.ts';
import { batchOf, isLog, keepTrace, keyOf, type OutboxRow, type PendingRow } from './outbox-row.ts';
import { sendBatch, type UsageSink } from './send-batch.ts';

export interface OutboxOptions {
  /** All processes of one edge keep their files there. */
  readonly folder: string;
  readonly sink: UsageSink;
  readonly events: OutboxEvents;
  readonly synchronous: OutboxSynchronous;
  /** Finished requests that wait in memory while the disk takes nothing; further ones are lost. */
  readonly memoryEvents: number;
}

const defaults = {
  openFile: OutboxFile.open,
  /** First pause after a failed delivery; doubled up to a second. */
  retryMs: 100,
  /** How long it goes on delivering when it is closed. */
  lastDeliveryMs: 1_000,
  /**
   * How often the files of dead processes are looked for, and a disk that failed is tried again.
   */
  tendMs: 1_000,
};

/** With more rows to deliver, all but the next batch are kept in the file alone. */
const maxRowsInMemory = 1_000;
/** With so many rows to deliver, nothing more is logged: their room is for usage. */
const maxRowsWithLogs = 20_000;
/**
 * Two deliveries begin so far apart at least: what ends together goes together, and what ends alone
 * at once.
 */
const gatherMs = 2;
const maxRetryMs = 1_000;

/**
 * What this process owes the ledger. A request is opened on disk before its provider is called, and
 * made final before its client has the last byte; finals are delivered until the ledger's side
 * confirms them. One that is not delivered at once replaces its open row on disk before its client
 * has the end. Killing the process, or cutting it off from the ledger for hours, loses nothing: the
 * rest is delivered from disk, by this process or the next one of the folder, under the same
 * request ids.
 */
export class Outbox implements AsyncDisposable {
  readonly #options: OutboxOptions & typeof defaults;
  readonly #closing = new AbortController();
  readonly #stop = new AbortController();
  readonly #background: readonly Promise<void>[];
  /** All rows that are in memory. */
  readonly #rows = new Map<string, PendingRow>();
  /** Those to be delivered, in the order in which they ended. */
  readonly #queue = new Set<PendingRow>();
  /** Those that the file has otherwise, or not yet. */
  readonly #changed = new Set<PendingRow>();
  /** Finals that go to disk only if they are not delivered at once. */
  readonly #deferred = new Set<PendingRow>();
  /** How many rows to be delivered are in the file alone. */
  #storedRows = 0;
  #lastNumber = 0;
  #file: OutboxFile;
  #endOfTurn: NodeJS.Immediate | undefined;
  /** Resolves when there may be something to deliver. */
  #due = Promise.withResolvers<void>();
  /** The sink has failed or is slow: no end of a request waits for it. */
  #isSinkLate = false;
  #isDiskFailing = false;

  /** @throws when the folder can't be written: a mistake in the settings. */
  constructor(options: OutboxOptions & Partial<typeof defaults>) {
    this.#options = { ...defaults, ...options };
    narrowMode(options.folder);
    this.#file = OutboxFile.create(this.#options);
    const tending = this.#regularly(() => this.#tend());
    this.#background = [this.#deliver(), tending, this.#regularly(() => this.#deliverStored())];
  }

  /**
   * Notes that a provider is about to be called, or how far it has come. The event may be changed
   * until the request ends.
   */
  open(event: UsageRecorded): void {
    this.#change(event, 'open');
  }

  /** Notes that a request ended without usage. */
  close(requestId: string): void {
    const row = this.#rows.get(requestId);
    if (row !== undefined) this.#remove(row);
    this.#scheduleEndOfTurn();
  }

  /**
   * Notes how a request ended. Resolves when this is delivered. While the sink is late or away:
   * when it survives the death of the process, or when the disk has been found not to take it.
   * Never rejects. The event must not be changed any more.
   * @param charged the event is on disk meanwhile, and is delivered after it. Never rejects.
   */
  async finish(event: UsageRecorded, charged?: Promise<void>): Promise<void> {
    if (this.#isDiskFailing && this.#isMemoryFull()) {
      this.#lose(event);
      return charged;
    }
    const row = this.#change(event, 'final');
    if (charged !== undefined) await charged;
    this.#defer(row);
    this.#queue.add(row);
    this.#scheduleEndOfTurn();
    await row.settled.promise;
  }

  /**
   * Notes what became of a request. Delivered with the next usage, or within `tendMs`. False when
   * there is no room.
   */
  log(log: RequestLogged): boolean {
    if (this.#isDiskFailing || this.#waitingRows >= maxRowsWithLogs) return false;
    const row = this.#change(log, 'final');
    this.#defer(row);
    this.#queue.add(row);
    return true;
  }

  /** Stops delivering and closes the file; what is not delivered stays for the next process. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    this.#keepDeferred();
    this.#writeChanges();
    this.#due.resolve();
    const endMs = performance.now() + this.#options.lastDeliveryMs;
    while (this.#waitingRows > 0 && performance.now() < endMs) await sleep(gatherMs);
    this.#stop.abort(new Error('the outbox is closed'));
    this.#due.resolve();
    await Promise.all(this.#background);
    clearImmediate(this.#endOfTurn);
    this.#keepDeferred();
    this.#writeChanges();
    // Nothing is written from here on.
    this.#isDiskFailing = true;
    this.#settleQueue();
    if (this.#file.isEmpty) this.#file.remove();
    else this.#file[Symbol.dispose]();
  }

  #change(message: OutboxRow['message'], state: 'open' | 'final'): PendingRow {
    keepTrace(message);
    const key = keyOf(message);
    const known = this.#rows.get(key) ?? {
      number: ++this.#lastNumber,
      isStored: false,
      settled: Promise.withResolvers<void>(),
    };
    const row = Object.assign(known, { message, state, writtenMs: Date.now() });
    this.#rows.set(key, row);
    this.#keep(row);
    return row;
  }

  /** The row goes to disk at the end of the turn. */
  #keep(row: PendingRow): void {
    this.#deferred.delete(row);
    this.#changed.add(row);
    this.#scheduleEndOfTurn();
  }

  /**
   * A final that is not on disk yet goes there only if it is not delivered at once. Not while that
   * can't be hoped for.
   */
  #defer(row: PendingRow): void {
    if (this.#isSinkLate || this.#isDiskFailing || this.#stop.signal.aborted) return;
    if (this.#changed.delete(row)) this.#deferred.add(row);
  }

  #keepDeferred(): void {
    for (const row of this.#deferred) this.#keep(row);
  }

  /** A row that the file has stays known until it has gone there. */
  #remove(row: PendingRow): void {
    row.state = 'gone';
    this.#queue.delete(row);
    row.settled.resolve();
    this.#deferred.delete(row);
    if (row.isStored) this.#changed.add(row);
    else {
      this.#changed.delete(row);
      this.#rows.delete(keyOf(row.message));
    }
  }

  /** Whether the finals that the disk does not take are too many. */
  #isMemoryFull(): boolean {
    const finals = this.#changed.values().filter(({ state }) => state === 'final');
    return finals.drop(this.#options.memoryEvents - 1).next().done !== true;
  }

  /** What the file has of the request is delivered instead. */
  #lose(event: UsageRecorded): void {
    const row = this.#rows.get(event.requestId);
    if (row?.isStored) this.#keepInFileAlone([row]);
    else if (row !== undefined) this.#remove(row);
    this.#options.events.lost(event);
  }

  /** Everything of one turn of the event loop is one transaction. */
  #scheduleEndOfTurn(): void {
    if (this.#stop.signal.aborted) return this.#settleQueue();
    this.#endOfTurn ??= setImmediate(() => {
      this.#endOfTurn = undefined;
      if (this.#queue.size > maxRowsInMemory) this.#keepDeferred();
      if (this.#changed.size > 0) this.#writeChanges();
      if (this.#isSinkLate || this.#isDiskFailing) this.#settleQueue();
      if (this.#queue.size > 0) this.#due.resolve();
    });
  }

  /** @param others rows that are in the file alone. */
  #writeChanges(others: readonly OutboxRow[] = []): void {
    try {
      this.#file.write([...this.#changed, ...others]);
    } catch (fault) {
      this.#isDiskFailing = true;
      this.#options.events.writeFailed(fault);
      if (isDamage(fault)) this.#replaceFile();
      return;
    }
    for (const row of this.#changed) {
      row.isStored = row.state !== 'gone';
      if (!row.isStored) this.#rows.delete(keyOf(row.message));
    }
    this.#changed.clear();
    this.#isDiskFailing = false;
    if (this.#queue.size > maxRowsInMemory && this.#deferred.size === 0) {
      this.#keepInFileAlone(this.#queue.values().drop(batchRows));
    }
  }

  #keepInFileAlone(rows: Iterable<PendingRow>): void {
    for (const row of rows) {
      this.#queue.delete(row);
      this.#rows.delete(keyOf(row.message));
      this.#storedRows += 1;
      row.settled.resolve();
    }
  }

  /** What was in the file alone is lost but for what can still be read there. */
  #replaceFile(): void {
    this.#file[Symbol.dispose]();
    OutboxFile.setAside(this.#file.path, this.#options.events);
    this.#file = OutboxFile.create(this.#options);
    this.#storedRows = 0;
    for (const row of this.#rows.values()) this.#changed.add(row);
    this.#scheduleEndOfTurn();
  }

  /** Delivers what is in memory, a batch at a time, until it is stopped. */
  async #deliver(): Promise<void> {
    const { retryMs, tendMs } = this.#options;
    let [pauseMs, sentMs] = [retryMs, 0];
    for (;;) {
      await this.#due.promise;
      if (this.#stop.signal.aborted) return;
      this.#due = Promise.withResolvers();
      const batch = this.#queue.values().take(batchRows).toArray();
      const canWait = performance.now() - sentMs < tendMs && !this.#closing.signal.aborted;
      if (batch.length === 0 || (canWait && batch.every(({ message }) => isLog(message)))) continue;
      sentMs = performance.now();
      if (await this.#send(batch)) {
        this.#isSinkLate = false;
        for (const row of batch) this.#remove(row);
        if (this.#queue.size > 0) this.#due.resolve();
        pauseMs = retryMs;
        const restMs = gatherMs - (performance.now() - sentMs);
        if (restMs > 0) await sleep(restMs);
      } else {
        this.#due.resolve();
        await sleep(pauseMs, undefined, { signal: this.#closing.signal }).catch(() => sleep(retryMs));
        pauseMs = Math.min(pauseMs * 2, maxRetryMs);
      }
    }
  }

  /** False when the sink did not take it. */
  async #send(rows: readonly OutboxRow[]): Promise<boolean> {
    const sending = { stop: this.#stop.signal, onSlow: () => this.#keepDeferred(), onLate: () => this.#sinkIsLate() };
    try {
      await sendBatch(this.#options.sink, batchOf(rows), sending);
      return true;
    } catch (fault) {
      this.#sinkIsLate();
      if (!this.#stop.signal.aborted) this.#options.events.deliveryFailed(fault);
      return false;
    }
  }

  #sinkIsLate(): void {
    this.#isSinkLate = true;
    this.#keepDeferred();
    this.#settleQueue();
  }

  /** Ends are waited for no longer, but until they are on disk, if it takes them. */
  #settleQueue(): void {
    for (const row of this.#queue) if (this.#isDiskFailing || !this.#changed.has(row)) row.settled.resolve();
  }

  async #regularly(work: () => Promise<void>): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await work().catch((fault) => this.#options.events.faulted(fault));
      await sleep(this.#options.tendMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  async #tend(): Promise<void> {
    this.#writeChanges();
    this.#due.resolve();
    const [first] = this.#queue;
    const oldestMs = (this.#storedRows > 0 ? this.#file.oldestMs : undefined) ?? first?.writtenMs ?? Date.now();
    this.#options.events.backlog({
      events: this.#waitingRows,
      oldestSeconds: (Date.now() - oldestMs) / 1_000,
      bytes: await bytesIn(this.#options.folder),
    });
  }

  get #waitingRows(): number {
    return this.#queue.size + this.#storedRows;
  }

  /**
   * Delivers what is in the file alone: what was too much for memory, and what dead processes left.
   */
  async #deliverStored(): Promise<void> {
    await this.#adoptAbandoned();
    if (this.#storedRows === 0) return;
    this.#writeChanges();
    try {
      for (const rows of this.#file.batches(this.#options.events)) {
        const alone = rows.filter(({ message }) => !this.#rows.has(keyOf(message)));
        if (alone.length > 0 && !(await this.#send(alone))) return;
        this.#storedRows = Math.max(0, this.#storedRows - alone.length);
        this.#writeChanges(alone.map((row) => ({ ...row, state: 'gone' })));
      }
    } catch (fault) {
      if (isDamage(fault)) this.#replaceFile();
      throw fault;
    }
  }

  /**
   * Copies what dead processes left into this one's file. Cut short, it is done again: the ledger
   * knows the ids.
   */
  async #adoptAbandoned(): Promise<void> {
    for await (const rows of abandonedRows(this.#options, this.#file.path)) {
      if (this.#stop.signal.aborted) return;
      this.#file.write(rows.map((row) => ({ ...row, number: ++this.#lastNumber })));
      this.#storedRows += rows.length;
    }
  }
}
