import { create } from '@bufbuild/protobuf';
import { Outcome, type UsageRecorded, UsageRecordedSchema } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { UsageDelivery, type UsageSink } from '../usage-delivery.ts';
import { UsageJournal, type UsageJournalOptions } from '../usage-journal.ts';
import { FaultyDisk } from './faulty-disk.ts';

export const usageEvent = (requestId: string, outcome = Outcome.COMPLETED): UsageRecorded =>
  create(UsageRecordedSchema, { requestId, tokenId: 't', localDay: '2026-11-20', inputTokens: 3n, outcome });

type TestEdgeOptions = Pick<UsageJournalOptions, 'folder'> &
  Partial<UsageJournalOptions> & { readonly sink: UsageSink };

/** What the journals of several processes share in one: everything that a process has for itself, and a way to kill it. */
export class TestEdge implements AsyncDisposable {
  readonly journal: UsageJournal;
  readonly disk: FaultyDisk;
  readonly told: TestEdgeTold;
  readonly #delivery: UsageDelivery;
  #isGone = false;

  static async start({ sink, ...options }: TestEdgeOptions): Promise<TestEdge> {
    const disk = new FaultyDisk();
    const delivery = new UsageDelivery({ sink, onFault: () => undefined, retryMs: 2 });
    const told: TestEdgeTold = { faults: [], writeErrors: 0, damage: [], drained: 0, lost: [] };
    const events: UsageJournalOptions['events'] = {
      faulted: (fault) => void told.faults.push(fault),
      writeFailed: () => {
        told.writeErrors += 1;
      },
      lineDamaged: (damage) => void told.damage.push(damage),
      drained: (count) => {
        told.drained += count;
      },
      lost: (event) => void told.lost.push(event.requestId),
      backlogIs: () => undefined,
    };
    // It looks after itself when the test says so.
    const journal = await UsageJournal.open({ disk, delivery, events, tendMs: 1_000_000, ...options });
    return new TestEdge(journal, disk, told, delivery);
  }

  private constructor(journal: UsageJournal, disk: FaultyDisk, told: TestEdgeTold, delivery: UsageDelivery) {
    this.journal = journal;
    this.disk = disk;
    this.told = told;
    this.#delivery = delivery;
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** As by SIGKILL: it neither writes nor delivers any more, and holds no lock. */
  kill(): void {
    this.#isGone = true;
    this.disk.kill();
    this.#delivery[Symbol.dispose]();
  }

  /** A round of looking after itself, in which dead owners are looked for as well. */
  async tend(): Promise<void> {
    for (let round = 0; round < 5; round++) await this.journal.tend();
    await this.disk.whenQuiet();
  }

  /** As by SIGTERM. */
  async stop(): Promise<void> {
    if (this.#isGone) return;
    this.#isGone = true;
    await this.journal[Symbol.asyncDispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

interface TestEdgeTold {
  readonly faults: unknown[];
  writeErrors: number;
  readonly damage: ('torn' | 'corrupt')[];
  drained: number;
  readonly lost: string[];
}
