import { narrowMode, withDiskRoom } from '@gateway/config';
import { usedBy } from '@gateway/presentation/request-usage';
import { cancelImmediate, epochMs, type Immediate, monotonicMs, sleep, startImmediate } from '@gateway/time';
import type { OutboxEvents } from './outbox-events.ts';
import { abandonedRows, batchRows, bytesIn, isDamage, OutboxFile, type OutboxSynchronous } from './outbox-file.ts';
import { batchOf, keepTrace, type OutboxRow, type StoredRow } from './outbox-row.ts';
import { sendBatch, type UsageSink } from './send-batch.ts';

export type { OutboxRow } from './outbox-row.ts';

export interface OutboxOptions {
  /** The folder in which all processes of one edge keep their files. */
  readonly folder: string;
  readonly sink: UsageSink;
  readonly events: OutboxEvents;
  readonly synchronous: OutboxSynchronous;
  /** Finished requests kept in memory while the disk accepts nothing; more are lost. */
  readonly memoryEvents: number;
}

const defaults = {
  openFile: OutboxFile.open,
  /** The first pause after a failed delivery; it doubles up to a second. */
  retryMs: 100,
  /** How long it continues to deliver when it is closed. */
  lastDeliveryMs: 1_000,
  /** How often it looks for files of dead processes, and retries a failed disk. */
  maintainMs: 1_000,
};

/** With more rows to deliver, all except the next batch are kept only in the file. */
const maxRowsInMemory = 1_000;
/** With this many rows to deliver, no more log entries are taken: the room is for usage. */
const maxRowsWithLogs = 20_000;
/** The minimum interval between deliveries, so that what ends together goes together. */
const gatherMs = 2;
const maxRetryMs = 1_000;

/**
 * The usage that this process owes the ledger. A request is opened on disk before its provider is
 * called, and becomes final before its client has the last byte. Final rows are delivered until the
 * ledger's side confirms them; one that is not delivered at once goes to disk before its client has
 * the end. So neither killing the process nor losing the ledger for hours loses anything: this
 * process, or the next one of the folder, delivers the rest from disk, with the same request ids.
 */
export class Outbox implements AsyncDisposable {
  readonly #options: OutboxOptions & typeof defaults;
  readonly #closing = new AbortController();
  readonly #stop = new AbortController();
  readonly #background: readonly Promise<void>[];
  /** All rows in memory. */
  readonly #rows = new Set<OutboxRow>();
  /** Rows to deliver, in the order in which they ended. */
  readonly #queue = new Set<OutboxRow>();
  /** Rows that differ from the file, or that it lacks. */
  readonly #changed = new Set<OutboxRow>();
  /** Final rows that are written to disk only if they are not delivered at once. */
  readonly #deferred = new Set<OutboxRow>();
  /** How many rows to deliver exist only in the file. */
  #storedRows = 0;
  #lastNumber = 0;
  #file: OutboxFile;
  #endOfTurn: Immediate | undefined;
  /** Resolves when there may be something to deliver. */
  #due = Promise.withResolvers<void>();
  /** The sink has failed or is slow: requests no longer wait for it at their end. */
  #isSinkLate = false;
  #isDiskFailing = false;

  /** @throws when the folder is not writable, which is an error in the settings. */
  constructor(options: OutboxOptions & Partial<typeof defaults>) {
    this.#options = { ...defaults, ...options };
    narrowMode(options.folder);
    this.#file = OutboxFile.create(this.#options);
    const maintaining = this.#regularly(() => this.#maintain());
    this.#background = [this.#deliver(), maintaining, this.#regularly(() => this.#deliverStored())];
  }

  /** Whether log entries are still taken: beyond this backlog, the room is for usage. */
  get hasRoomForLog(): boolean {
    return !this.#isDiskFailing && this.#waitingRows < maxRowsWithLogs;
  }

  /** Records that a provider is about to be called, or its progress. The record may change. */
  open(row: OutboxRow): void {
    this.#change(row, 'open');
  }

  /** Records that a request ended without anything to deliver. */
  close(row: OutboxRow): void {
    if (row.number === 0) return;
    this.#remove(row);
    this.#scheduleEndOfTurn();
  }

  /**
   * Records the end of a request. Resolves when it is delivered or, while the sink is late or away,
   * when it is on disk or the disk is known not to accept it. Never rejects. The record must not
   * change.
   * @param charged the record goes to disk meanwhile, and is delivered after this. Never rejects.
   */
  async finish(row: OutboxRow, charged?: Promise<void>): Promise<void> {
    if (this.#isDiskFailing && this.#isMemoryFull()) {
      this.#lose(row);
      return charged;
    }
    this.#change(row, 'final');
    if (charged !== undefined) await charged;
    this.#defer(row);
    this.#queue.add(row);
    this.#scheduleEndOfTurn();
    await row.settled.promise;
  }

  /** Takes a request without usage for the log. It goes with usage, or within `maintainMs`. */
  log(row: OutboxRow): void {
    this.#change(row, 'final');
    this.#defer(row);
    this.#queue.add(row);
  }

  /** Stops delivering and closes the file; undelivered rows stay for the next process. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    this.#keepDeferred();
    this.#writeChanges();
    this.#due.resolve();
    const endMs = monotonicMs() + this.#options.lastDeliveryMs;
    while (this.#waitingRows > 0 && monotonicMs() < endMs) await sleep(gatherMs);
    this.#stop.abort(new Error('the outbox is closed'));
    this.#due.resolve();
    await Promise.all(this.#background);
    cancelImmediate(this.#endOfTurn);
    this.#keepDeferred();
    this.#writeChanges();
    // Nothing is written from here on.
    this.#isDiskFailing = true;
    this.#settleQueue();
    if (this.#file.isEmpty) this.#file.remove();
    else this.#file[Symbol.dispose]();
  }

  #change(row: OutboxRow, state: 'open' | 'final'): void {
    keepTrace(row.record);
    if (row.number === 0) row.number = ++this.#lastNumber;
    Object.assign(row, { state, changedAtMs: epochMs() });
    this.#rows.add(row);
    this.#keep(row);
  }

  /** Writes the row to disk at the end of the turn of the event loop. */
  #keep(row: OutboxRow): void {
    this.#deferred.delete(row);
    this.#changed.add(row);
    this.#scheduleEndOfTurn();
  }

  /** Writes a final row only once its delivery is slow; at once if delivery is known to be slow. */
  #defer(row: OutboxRow): void {
    if (this.#isSinkLate || this.#isDiskFailing || this.#stop.signal.aborted) return;
    // Its row in the file has a last attempt with usage: another process would deliver that too.
    if (row.isStored && row.record.attempts.at(-1)?.usage === undefined) return;
    if (this.#changed.delete(row)) this.#deferred.add(row);
  }

  #keepDeferred(): void {
    for (const row of this.#deferred) this.#keep(row);
  }

  /** A row in the file stays known until it is deleted there. */
  #remove(row: OutboxRow): void {
    row.state = 'gone';
    this.#queue.delete(row);
    row.settled.resolve();
    this.#deferred.delete(row);
    if (row.isStored) this.#changed.add(row);
    else {
      this.#changed.delete(row);
      this.#rows.delete(row);
    }
  }

  /** Whether there are too many final rows that the disk does not accept. */
  #isMemoryFull(): boolean {
    const finals = this.#changed.values().filter(({ state }) => state === 'final');
    return finals.drop(this.#options.memoryEvents - 1).next().done !== true;
  }

  /** The stored version of the request is delivered instead. */
  #lose(row: OutboxRow): void {
    if (row.isStored) this.#keepInFileAlone([row]);
    else if (row.number > 0) this.#remove(row);
    this.#options.events.lost();
  }

  /** All changes of one turn of the event loop are one transaction. */
  #scheduleEndOfTurn(): void {
    if (this.#stop.signal.aborted) return this.#settleQueue();
    this.#endOfTurn ??= startImmediate(() => {
      this.#endOfTurn = undefined;
      if (this.#queue.size > maxRowsInMemory) this.#keepDeferred();
      if (this.#changed.size > 0) this.#writeChanges();
      if (this.#isSinkLate || this.#isDiskFailing) this.#settleQueue();
      if (this.#queue.size > 0) this.#due.resolve();
    });
  }

  /** @param others rows that exist only in the file. */
  #writeChanges(others: readonly StoredRow[] = []): void {
    try {
      this.#file.write([...this.#changed, ...others]);
    } catch (fault) {
      this.#isDiskFailing = true;
      this.#options.events.writeFailed(withDiskRoom(fault, this.#options.folder));
      if (isDamage(fault)) this.#replaceFile();
      return;
    }
    for (const row of this.#changed) {
      row.isStored = row.state !== 'gone';
      if (!row.isStored) this.#rows.delete(row);
    }
    this.#changed.clear();
    this.#isDiskFailing = false;
    if (this.#queue.size > maxRowsInMemory && this.#deferred.size === 0) {
      this.#keepInFileAlone(this.#queue.values().drop(batchRows));
    }
  }

  #keepInFileAlone(rows: Iterable<OutboxRow>): void {
    for (const row of rows) {
      this.#queue.delete(row);
      this.#rows.delete(row);
      this.#storedRows += 1;
      row.settled.resolve();
    }
  }

  /** Rows that existed only in the file are lost, unless they can still be read there. */
  #replaceFile(): void {
    this.#file[Symbol.dispose]();
    OutboxFile.setAside(this.#file.path, this.#options.events);
    this.#file = OutboxFile.create(this.#options);
    this.#storedRows = 0;
    for (const row of this.#rows) this.#changed.add(row);
    this.#scheduleEndOfTurn();
  }

  /** Delivers the rows in memory, a batch at a time, until it is stopped. */
  async #deliver(): Promise<void> {
    const { retryMs, maintainMs } = this.#options;
    let [pauseMs, sentMs] = [retryMs, 0];
    for (;;) {
      await this.#due.promise;
      if (this.#stop.signal.aborted) return;
      this.#due = Promise.withResolvers();
      const batch = this.#queue.values().take(batchRows).toArray();
      const canWait = monotonicMs() - sentMs < maintainMs && !this.#closing.signal.aborted;
      if (batch.length === 0 || (canWait && batch.every(({ record }) => usedBy(record) === undefined))) continue;
      sentMs = monotonicMs();
      if (await this.#send(batch)) {
        this.#isSinkLate = false;
        for (const row of batch) this.#remove(row);
        if (this.#queue.size > 0) this.#due.resolve();
        pauseMs = retryMs;
        const restMs = gatherMs - (monotonicMs() - sentMs);
        if (restMs > 0) await sleep(restMs);
      } else {
        this.#due.resolve();
        await sleep(pauseMs, { signal: this.#closing.signal }).catch(() => sleep(retryMs));
        pauseMs = Math.min(pauseMs * 2, maxRetryMs);
      }
    }
  }

  /** False when the sink did not accept it. */
  async #send(rows: readonly StoredRow[]): Promise<boolean> {
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

  /** Requests no longer wait for delivery at their end, only for the disk, if it accepts rows. */
  #settleQueue(): void {
    for (const row of this.#queue) if (this.#isDiskFailing || !this.#changed.has(row)) row.settled.resolve();
  }

  async #regularly(work: () => Promise<void>): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await work().catch((fault) => this.#options.events.faulted(fault));
      await sleep(this.#options.maintainMs, { signal, ref: false }).catch(() => undefined);
    }
  }

  async #maintain(): Promise<void> {
    this.#writeChanges();
    this.#due.resolve();
    const [first] = this.#queue;
    const oldestMs = (this.#storedRows > 0 ? this.#file.oldestMs : undefined) ?? first?.changedAtMs ?? epochMs();
    this.#options.events.backlog({
      events: this.#waitingRows,
      oldestSeconds: (epochMs() - oldestMs) / 1_000,
      bytes: await bytesIn(this.#options.folder),
    });
  }

  get #waitingRows(): number {
    return this.#queue.size + this.#storedRows;
  }

  /** Delivers rows that are only in files: they did not fit in memory, or their process died. */
  async #deliverStored(): Promise<void> {
    await this.#adoptAbandoned();
    if (this.#storedRows === 0) return;
    this.#writeChanges();
    try {
      for (const rows of this.#file.batches(this.#options.events)) {
        const known = new Set(Array.from(this.#rows, ({ number }) => number));
        const alone = rows.filter(({ number }) => !known.has(number));
        if (alone.length > 0 && !(await this.#send(alone))) return;
        this.#storedRows = Math.max(0, this.#storedRows - alone.length);
        this.#writeChanges(alone.map((row) => ({ ...row, state: 'gone' })));
      }
    } catch (fault) {
      if (isDamage(fault)) this.#replaceFile();
      throw fault;
    }
  }

  /** Copies rows of dead processes into this one's file. Repeatable: the ledger knows the ids. */
  async #adoptAbandoned(): Promise<void> {
    for await (const rows of abandonedRows(this.#options, this.#file.path)) {
      if (this.#stop.signal.aborted) return;
      this.#file.write(rows.map((row) => ({ ...row, number: ++this.#lastNumber })));
      this.#storedRows += rows.length;
    }
  }
}
