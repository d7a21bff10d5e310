import { create } from '@bufbuild/protobuf';
import {
  RecordedAttemptSchema,
  RequestEnding,
  RequestRecordedSchema,
} from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { vi } from 'vitest';
import { Outbox } from '../outbox.ts';
import { OutboxFile } from '../outbox-file.ts';
import { type OutboxRow, outboxRowOf } from '../outbox-row.ts';
import type { UsageSink } from '../send-batch.ts';

/** A request that used three tokens at a provider, as its caller holds it. */
export function requestRow(requestId: string, ending = RequestEnding.COMPLETED): OutboxRow {
  const attempts = [{ usage: { inputTokens: 3 } }];
  const fields = { requestId, tokenId: 't', localDay: '2026-11-20', attempts, ending };
  return outboxRowOf(create(RequestRecordedSchema, fields));
}

/** A request that has used nothing, for the log only. */
export function refusedRow(requestId: string): OutboxRow {
  return refused(requestRow(requestId));
}

/** Its provider billed nothing of it. */
export function refused(row: OutboxRow): OutboxRow {
  for (const attempt of row.record.attempts) delete attempt.usage;
  return logged(ended(row, RequestEnding.REFUSED));
}

export function ended(row: OutboxRow, ending = RequestEnding.COMPLETED): OutboxRow {
  row.record.ending = ending;
  return row;
}

/** Its attempt is given up for another one. */
export function moved(row: OutboxRow): OutboxRow {
  row.record.attempts.push(create(RecordedAttemptSchema, { usage: { inputTokens: 3 } }));
  return ended(row, RequestEnding.UNSPECIFIED);
}

/** It ends with an attempt that its provider does not bill. */
export function endedUnbilled(row: OutboxRow): OutboxRow {
  delete row.record.attempts.at(-1)?.usage;
  return ended(row, RequestEnding.FAILED);
}

/** It goes to the request log too. */
export function logged(row: OutboxRow): OutboxRow {
  row.record.receivedAtMs = 1_000;
  return row;
}

export type OutboxOptions = ConstructorParameters<typeof Outbox>[0];

type TestEdgeOptions = Pick<OutboxOptions, 'folder'> & Partial<OutboxOptions> & { readonly sink: UsageSink };

const stuck = new Promise<never>(() => undefined);

/**
 * The outbox of one process, in a form that allows several in one test: with a disk that can fail,
 * and a way to kill it.
 */
export class TestEdge implements AsyncDisposable {
  readonly outbox: Outbox;
  readonly seen: {
    writes: number;
    states: string[];
    writeErrors: number;
    damaged: string[];
    lost: number;
    waiting: number;
    /** The age of the oldest row that waits, and the size of all files. */
    oldestSeconds: number;
    bytes: number;
    faults: unknown[];
    deliveryFaults: unknown[];
  };
  readonly #files: OutboxFile[];
  #isGone = false;
  isDiskFull = false;
  isKilled = false;

  static async start({ sink, ...options }: TestEdgeOptions): Promise<TestEdge> {
    const seen: TestEdge['seen'] = {
      writes: 0,
      states: [],
      writeErrors: 0,
      damaged: [],
      ...{ lost: 0, waiting: 0, oldestSeconds: 0, bytes: 0 },
      faults: [],
      deliveryFaults: [],
    };
    const events: OutboxOptions['events'] = {
      deliveryFailed: (fault) => void seen.deliveryFaults.push(fault),
      faulted: (fault) => void seen.faults.push(fault),
      writeFailed: () => {
        seen.writeErrors += 1;
      },
      damaged: (path) => void seen.damaged.push(path),
      lost: () => {
        seen.lost += 1;
      },
      backlog: ({ events: waiting, ...rest }) => void Object.assign(seen, { waiting, ...rest }),
    };
    const files: OutboxFile[] = [];
    const edge: { current?: TestEdge } = {};
    const openFile = (path: string, synchronous: OutboxOptions['synchronous']) => {
      const file = OutboxFile.open(path, synchronous);
      if (file === undefined) return undefined;
      files.push(file);
      const write = file.write.bind(file);
      vi.spyOn(file, 'write').mockImplementation((rows) => {
        if (edge.current?.isDiskFull) throw new Error('database or disk is full');
        write(rows);
        seen.states.push(...[...rows].map(({ state }) => state));
        // Rows of dead processes are not in any memory, and do not count.
        if ([...rows].every((row) => 'isStored' in row)) seen.writes += 1;
      });
      return file;
    };
    const outbox = new Outbox({
      sink: { record: (...args) => (edge.current?.isKilled ? stuck : sink.record(...args)) },
      events,
      synchronous: 'off',
      memoryEvents: 10_000,
      retryMs: 2,
      maintainMs: 2,
      lastDeliveryMs: 50,
      openFile,
      ...options,
    });
    edge.current = new TestEdge(outbox, seen, files);
    return edge.current;
  }

  private constructor(outbox: Outbox, seen: TestEdge['seen'], files: OutboxFile[]) {
    this.outbox = outbox;
    this.seen = seen;
    this.#files = files;
  }

  /** The states of all rows that were written, in order. */
  writtenStates(): readonly string[] {
    return this.seen.states;
  }

  /** As by SIGKILL: it neither writes nor delivers any more, and holds no lock. */
  async kill(): Promise<void> {
    this.#isGone = true;
    this.isDiskFull = true;
    this.isKilled = true;
    for (const file of this.#files) file[Symbol.dispose]();
    await this.outbox[Symbol.asyncDispose]().catch(() => undefined);
  }

  /** As by SIGTERM. */
  async stop(): Promise<void> {
    if (this.#isGone) return;
    this.#isGone = true;
    await this.outbox[Symbol.asyncDispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}
