import { create, toBinary } from '@bufbuild/protobuf';
import { UsageRecordedSchema } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { RecordRequestSchema } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { describe, expect, it } from 'vitest';
import { type Messages, messageBatches } from './message-batches.ts';

describe('batches of messages', () => {
  it('are full while there is enough at hand, and nothing is waited for', async () => {
    const source = new FakeMessages([20, 20, 20, 20, 20, 20, 20]);
    const gathered: [number, number][] = [];
    source.end();
    const gather = async (_last: unknown, missing: number) => void gathered.push([source.taken, missing]);
    expect(await batchesOf(source, 50, gather)).toEqual([60, 60, 20]);
    // Only the last one is not full: it lacks one and a half of such messages.
    expect(gathered).toEqual([[7, 1.5]]);
  });

  it('hold what arrives while they are gathered for, which happens once', async () => {
    const source = new FakeMessages([1]);
    let times = 0;
    const batches = batchesOf(source, 50, async () => {
      if (++times === 1) source.arrive([2, 3]);
      else source.end();
    });
    source.whenDry = () => source.arrive([4]);
    expect(await batches).toEqual([6, 4]);
    expect(times).toBe(2);
  });

  it('have at least one message, however many events that holds', async () => {
    const source = new FakeMessages([70, 70, 1]);
    source.end();
    expect(await batchesOf(source, 50, async () => undefined)).toEqual([70, 70, 1]);
  });

  it('are closed by the end of the messages', async () => {
    const source = new FakeMessages([1, 2]);
    source.end();
    expect(await batchesOf(source, 50, async () => undefined)).toEqual([3]);
  });
});

type Gather = (last: FakeMessage, missing: number) => Promise<void>;

async function batchesOf(source: FakeMessages, batchEvents: number, gather: Gather) {
  const batches: number[] = [];
  for await (const batch of messageBatches(source, { batchEvents, gather })) {
    batches.push(batch.reduce((sum, { events = [] }) => sum + events.length, 0));
  }
  return batches;
}

/** Messages of so many events each, with a count of those at hand as NATS' own iterator keeps it. */
class FakeMessages implements Messages<FakeMessage> {
  readonly #waiting: FakeMessage[] = [];
  #isOver = false;
  #wake: (() => void) | undefined;
  taken = 0;
  /** Called once, when the next message is asked for and there is none. */
  whenDry: (() => void) | undefined;

  constructor(eventCounts: readonly number[]) {
    this.arrive(eventCounts);
  }

  arrive(eventCounts: readonly number[]): void {
    this.#waiting.push(...eventCounts.map(messageOf));
    this.#wake?.();
  }

  end(): void {
    this.#isOver = true;
    this.#wake?.();
  }

  getPending(): number {
    return this.#waiting.length;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<FakeMessage> {
    for (;;) {
      const [message] = this.#waiting;
      if (message !== undefined) {
        this.taken += 1;
        yield message;
        this.#waiting.shift();
        continue;
      }
      if (this.#isOver) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      this.whenDry?.();
      this.whenDry = undefined;
      await promise;
    }
  }
}

interface FakeMessage {
  readonly data: Uint8Array;
}

function messageOf(eventCount: number): FakeMessage {
  const events = Array.from({ length: eventCount }, (_, index) =>
    create(UsageRecordedSchema, { requestId: `r${index}` }),
  );
  return { data: toBinary(RecordRequestSchema, create(RecordRequestSchema, { events })) };
}
