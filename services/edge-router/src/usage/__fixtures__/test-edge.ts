import { create } from '@bufbuild/protobuf';
import { LedgerOutcome, type UsageRecorded, UsageRecordedSchema } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { vi } from 'vitest';
import { Outbox } from '../outbox.ts';
import { OutboxFile } from '../outbox-file.ts';
import type { UsageSink } from '../send-batch.ts';

export const usageEvent = (requestId: string, outcome = LedgerOutcome.COMPLETED): UsageRecorded =>
  create(UsageRecordedSchema, { requestId, tokenId: 't', localDay: '2026-11-20', inputTokens: 3, outcome });

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
    lost: string[];
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
      lost: [],
      ...{ waiting: 0, oldestSeconds: 0, bytes: 0 },
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
      lost: (event) => void seen.lost.push(event.requestId),
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
