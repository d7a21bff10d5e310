import { addAbortListener } from 'node:events';
import { constants } from 'node:fs';
import { access, mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTick, setTimeout as sleep } from 'node:timers/promises';
import { narrowMode } from '@gateway/config';
import type { RequestLogged } from '@gateway/proto/usage/v1/request_log_pb.js';
import type { UsageRecorded } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import type { UsageBatch } from '@gateway/usage-stream/usage-message';
import type { OutboxEvents } from '../events.ts';
import { isDamage, type OutboxBatch, type OutboxChange, OutboxFile, type OutboxSynchronous } from './outbox-file.ts';

/** Where finished usage goes: JetStream, or the ingest service itself where there is no broker. */
export interface UsageSink {
  /** Resolves when a batch is safe on the other side. May be repeated with the same batch. */
  record(batch: UsageBatch, signal: AbortSignal): Promise<void>;
}

export interface OutboxOptions {
  /** All processes of one edge keep their files there. */
  readonly folder: string;
  readonly sink: UsageSink;
  readonly events: OutboxEvents;
  readonly synchronous: OutboxSynchronous;
  /** Finished requests that wait in memory while the disk takes nothing; further ones are lost. */
  readonly memoryEvents: number;
  /** The rest is set by tests. */
  readonly openFile?: typeof OutboxFile.open;
  /** First pause after a failed delivery; doubled up to five seconds. */
  readonly retryMs?: number;
  /** How long it goes on delivering when it is closed. */
  readonly lastDeliveryMs?: number;
  /** How often the files of dead processes are looked for, and a disk that failed is tried again. */
  readonly tendMs?: number;
}

const defaults = { openFile: OutboxFile.open, retryMs: 100, lastDeliveryMs: 1_000, tendMs: 1_000 };

/** Rows of one delivery at most. */
const batchRows = 500;
/** Two deliveries begin so far apart at least: what ends together goes together, what ends alone goes at once. */
const gatherMs = 2;
/** How long the end of a request waits for its delivery. */
const lateMs = 300;
/** With so many rows to deliver, nothing more is logged: their room is for usage. */
const maxRowsWithLogs = 20_000;
const maxRetryMs = 5_000;
const sendTimeoutMs = 10_000;

/**
 * What this process owes the ledger. A request is opened before its provider is called, and made final before its client
 * has the last byte; finals are delivered until the ledger's side confirms them. Killing the process, or cutting it off
 * from the ledger for hours, loses nothing: the rest is delivered from disk, by this process or the next one of the
 * folder, under the same request ids.
 */
export class Outbox implements AsyncDisposable {
  readonly #options: Required<OutboxOptions>;
  readonly #stop = new AbortController();
  readonly #background: readonly Promise<void>[];
  /** What the file does not have yet, the latest of each request. */
  readonly #pending = new Map<string, OutboxChange>();
  /** Requests whose end the file has to learn. */
  readonly #openInFile = new Set<string>();
  #file: OutboxFile;
  #flush: Promise<void> | undefined;
  /** The sink has failed or is slow: no end of a request waits for it. */
  #isSinkLate = false;
  #isDiskFailing = false;
  #isClosed = false;
  /** Finals of the file up to this sequence number are confirmed, though their rows may still stand. */
  #confirmedUpTo = 0;
  /** Resolves when something has arrived, was confirmed or is late. */
  #progress = Promise.withResolvers<void>();
  #retryPause = new AbortController();

  /** @throws when the folder can't be written: a mistake in the settings. */
  static async open(options: OutboxOptions): Promise<Outbox> {
    await mkdir(options.folder, { recursive: true, mode: 0o700 });
    narrowMode(options.folder);
    await access(options.folder, constants.R_OK | constants.W_OK | constants.X_OK);
    return new Outbox(options);
  }

  private constructor(options: OutboxOptions) {
    this.#options = { ...defaults, ...options };
    this.#file = OutboxFile.create(this.#options);
    this.#background = [this.#deliver(), this.#tend()];
  }

  /** Notes that a provider is about to be called, or how far it has come. The event may be changed until the request ends. */
  open(event: UsageRecorded): void {
    this.#note(event.requestId, { kind: 'open', event });
  }

  /** Notes that a request ended without usage. */
  close(requestId: string): void {
    this.#note(requestId, { kind: 'closed', requestId });
  }

  /**
   * Notes how a request ended. Resolves when this is delivered. While the sink is late or away: when it survives the death of
   * the process, or when the disk has been found not to take it. Never rejects. The event must not be changed any more.
   */
  finish(event: UsageRecorded): Promise<void> {
    return this.#note(event.requestId, { kind: 'final', event });
  }

  /** Notes what became of a request. Goes with the next usage, or within `tendMs`. False when there is no room. */
  log(log: RequestLogged): boolean {
    if (this.#isDiskFailing || this.#waitingRows >= maxRowsWithLogs) return false;
    this.#note(`log ${log.requestId}`, { kind: 'log', log });
    return true;
  }

  /** Stops delivering and closes the file; what is not delivered stays for the next process. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#writePending();
    this.#announce();
    this.#retryPause.abort();
    const tooLate = sleep(this.#options.lastDeliveryMs, undefined, { ref: false });
    await Promise.race([this.#untilDelivered(), tooLate]);
    this.#stop.abort(new Error('the outbox is closed'));
    this.#retryPause.abort();
    this.#sinkIsLate();
    await Promise.all(this.#background);
    this.#writePending();
    this.#isClosed = true;
    if (this.#pending.size === 0 && this.#file.isEmpty) this.#file.remove();
    else this.#file[Symbol.dispose]();
  }

  async #untilDelivered(): Promise<void> {
    while (this.#waitingRows > 0 && !this.#stop.signal.aborted) await this.#progress.promise;
  }

  #note(requestId: string, change: OutboxChange): Promise<void> {
    // Set anew, so that finals stand in the order in which they came.
    this.#pending.delete(requestId);
    if (change.kind === 'final' && this.#isDiskFailing && this.#pendingFinals().length >= this.#options.memoryEvents) {
      this.#options.events.lost(change.event);
    } else if (change.kind !== 'closed' || this.#openInFile.has(requestId)) {
      this.#pending.set(requestId, change);
    }
    return this.#isDiskFailing ? Promise.resolve() : this.#scheduleFlush();
  }

  /** Everything of one round of the event loop is one transaction. */
  #scheduleFlush(): Promise<void> {
    this.#flush ??= nextTick().then(() => {
      this.#flush = undefined;
      this.#writePending();
      return this.#untilConfirmed(this.#file.lastSequence);
    });
    return this.#flush;
  }

  /** A backlog is not waited for. */
  async #untilConfirmed(sequence: number): Promise<void> {
    if (sequence - this.#confirmedUpTo > batchRows) return;
    while (sequence > this.#confirmedUpTo && !this.#isSinkLate && !this.#isDiskFailing && !this.#isClosed) {
      await this.#progress.promise;
    }
  }

  #sinkIsLate(): void {
    this.#isSinkLate = true;
    this.#announce();
  }

  #writePending(): void {
    if (this.#isClosed) return;
    const hasUsage = this.#pending.values().some(({ kind }) => kind === 'final');
    try {
      this.#file.write(this.#pending.values(), this.#confirmedUpTo);
      for (const [requestId, { kind }] of this.#pending) {
        if (kind === 'open') this.#openInFile.add(requestId);
        else this.#openInFile.delete(requestId);
      }
      this.#pending.clear();
      this.#isDiskFailing = false;
    } catch (fault) {
      this.#isDiskFailing = true;
      this.#options.events.writeFailed(fault);
      if (isDamage(fault)) this.#replaceFile();
    }
    if (hasUsage) this.#announce();
  }

  /** Its rows are lost but for those that can still be read; what comes from now on is not. */
  #replaceFile(): void {
    const { path } = this.#file;
    this.#file[Symbol.dispose]();
    this.#setAside(path);
    this.#file = OutboxFile.create(this.#options);
    this.#confirmedUpTo = 0;
    this.#openInFile.clear();
    this.#sinkIsLate();
  }

  #announce(): void {
    this.#progress.resolve();
    this.#progress = Promise.withResolvers();
  }

  /** Delivers finals in their order, a batch at a time, until it is stopped. */
  async #deliver(): Promise<void> {
    const { retryMs, events } = this.#options;
    let pauseMs = retryMs;
    while (!this.#stop.signal.aborted) {
      const arrival = this.#progress.promise;
      const batch = this.#nextBatch();
      if (batch === undefined) {
        await arrival;
        continue;
      }
      try {
        const sentMs = performance.now();
        await this.#send(batch);
        this.#confirm(batch);
        pauseMs = retryMs;
        const restMs = gatherMs - (performance.now() - sentMs);
        if (restMs > 0) await sleep(restMs);
      } catch (fault) {
        this.#sinkIsLate();
        if (this.#stop.signal.aborted) return;
        events.deliveryFailed(fault);
        this.#retryPause = new AbortController();
        await sleep(pauseMs, undefined, { signal: this.#retryPause.signal }).catch(() => undefined);
        pauseMs = Math.min(pauseMs * 2, maxRetryMs);
      }
    }
  }

  /** A sink that ignores the signal delays neither the retry nor the end of the process. */
  async #send({ events, logs }: OutboxBatch): Promise<void> {
    if (events.length + logs.length === 0) return;
    using _late = setTimeout(() => this.#sinkIsLate(), lateMs);
    const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(sendTimeoutMs)]);
    const givenUp = Promise.withResolvers<never>();
    using _givingUp = addAbortListener(signal, () => givenUp.reject(signal.reason));
    await Promise.race([this.#options.sink.record({ events, logs }, signal), givenUp.promise]);
  }

  /** What the disk does not take is delivered from memory. */
  #nextBatch(): OutboxBatch | undefined {
    try {
      const stored = this.#file.finals(this.#confirmedUpTo, batchRows);
      if (stored !== undefined) return stored;
    } catch (fault) {
      this.#options.events.faulted(fault);
      if (isDamage(fault)) this.#replaceFile();
    }
    const events = this.#isDiskFailing ? this.#pendingFinals().slice(0, batchRows) : [];
    return events.length === 0 ? undefined : { events, logs: [], upTo: 0, damaged: 0 };
  }

  #confirm({ events, upTo, damaged }: OutboxBatch): void {
    if (upTo === 0) {
      for (const { requestId } of events) {
        // Its row, should it have one, is of no use any more.
        if (this.#openInFile.has(requestId)) this.#pending.set(requestId, { kind: 'closed', requestId });
        else this.#pending.delete(requestId);
      }
      return;
    }
    this.#confirmedUpTo = upTo;
    this.#isSinkLate = false;
    if (damaged > 0) this.#options.events.damaged(this.#file.path, damaged);
    if (!this.#isDiskFailing) void this.#scheduleFlush();
    this.#announce();
  }

  #pendingFinals(): readonly UsageRecorded[] {
    return [...this.#pending.values()].flatMap((change) => (change.kind === 'final' ? change.event : []));
  }

  get #waitingRows(): number {
    return this.#file.lastSequence - this.#confirmedUpTo + this.#pendingFinals().length;
  }

  async #tend(): Promise<void> {
    const { signal } = this.#stop;
    const { events, tendMs } = this.#options;
    while (!signal.aborted) {
      if (this.#isDiskFailing) this.#writePending();
      this.#announce();
      try {
        events.backlog(await this.#measureBacklog());
        await this.#adoptAbandoned();
      } catch (fault) {
        events.faulted(fault);
      }
      await sleep(tendMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  /** Takes over what dead processes left in the folder. */
  async #adoptAbandoned(): Promise<void> {
    const { folder, events } = this.#options;
    for (const name of await readdir(folder)) {
      const path = join(folder, name);
      if (!name.endsWith('.sqlite') || path === this.#file.path) continue;
      try {
        await this.#adopt(path);
      } catch (fault) {
        events.faulted(fault);
        if (isDamage(fault)) this.#setAside(path);
      }
    }
  }

  /** Copies a file into this process' own and removes it. Cut short, it is done again: the ledger knows the ids. */
  async #adopt(path: string): Promise<void> {
    const { synchronous, events, openFile } = this.#options;
    using abandoned = openFile(path, synchronous);
    if (abandoned === undefined) return;
    abandoned.closeAbandoned();
    let batch = abandoned.finals(0, batchRows);
    for (; batch !== undefined; batch = abandoned.finals(batch.upTo, batchRows)) {
      if (this.#stop.signal.aborted) return;
      const finals = batch.events.map((event) => ({ kind: 'final', event }) as const);
      this.#file.write([...finals, ...batch.logs.map((log) => ({ kind: 'log', log }) as const)]);
      if (batch.damaged > 0) events.damaged(path, batch.damaged);
      this.#announce();
      await nextTick();
    }
    abandoned.remove();
  }

  #setAside(path: string): void {
    OutboxFile.setAside(path);
    this.#options.events.damaged(path, undefined);
  }

  async #measureBacklog() {
    const oldestMs = this.#file.writtenAtMs(this.#confirmedUpTo);
    const files = (await readdir(this.#options.folder)).map((name) => stat(join(this.#options.folder, name)));
    const sizes = (await Promise.allSettled(files)).map((file) => (file.status === 'fulfilled' ? file.value.size : 0));
    return {
      events: this.#waitingRows,
      oldestSeconds: oldestMs === undefined ? 0 : (Date.now() - oldestMs) / 1_000,
      bytes: sizes.reduce((sum, size) => sum + size, 0),
    };
  }
}
