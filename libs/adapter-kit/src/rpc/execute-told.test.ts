import type { ExecuteResponse } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import type { AnswerListener } from '@gateway/rpc';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AdapterUnderTest, executeAtHand, readable, startAdapter } from '../__fixtures__/adapter-under-test.ts';
import { event } from '../__fixtures__/fake-format.ts';
import { answerAsTaken, eventStream, eventStreamToBegin } from '../__fixtures__/fake-provider.ts';

let adapter: AdapterUnderTest;
beforeEach(async () => {
  adapter = await startAdapter();
});
afterEach(() => adapter[Symbol.asyncDispose]());

/** Notes what it is told. */
class Notes implements AnswerListener<ExecuteResponse> {
  readonly told: (string | object)[] = [];
  bytes = 0;

  onAnswer(frame: ExecuteResponse): void {
    this.bytes += frame.body.length;
    const { body: _, ...rest } = readable(frame);
    this.told.push(rest);
  }

  onEnd(): void {
    this.told.push('end');
  }

  onFailure(reason: unknown): void {
    this.told.push(`failure: ${reason instanceof Error ? reason.message : reason}`);
  }
}

const whole = event.text('Hi') + event.done;
const usage = '4 in, 1 out, estimated';

describe('a request that is all there', () => {
  it('is sent before the call returns, once the account’s secret is at hand', async () => {
    adapter.provider.answer = (response) => eventStreamToBegin(response).end(whole);
    await adapter.context.credentials.ofAccount('pool/a');
    const notes = new Notes();
    executeAtHand(adapter).tellTo(notes);
    expect(await openStreams()).toBe(1);
    expect(notes.told).toEqual([]);
    await expect.poll(() => notes.told).toEqual([{ status: 200, usage, result: 'SUCCEEDED' }, 'end']);
  });

  it('is sent with a secret that must be asked for first', async () => {
    adapter.provider.answer = (response) => eventStreamToBegin(response).end(whole);
    const notes = new Notes();
    executeAtHand(adapter).tellTo(notes);
    await expect.poll(() => notes.told).toEqual([{ status: 200, usage, result: 'SUCCEEDED' }, 'end']);
    expect(adapter.asked).toHaveLength(1);
  });

  it('fails after the call has returned when it is refused', async () => {
    const notes = new Notes();
    executeAtHand(adapter, { body: { refuse: true } }).tellTo(notes);
    expect(notes.told).toEqual([]);
    await expect.poll(() => notes.told).toEqual(['failure: messages[0] is not for this model']);
  });

  it('tells nothing of its failure to who has left', async () => {
    const notes = new Notes();
    executeAtHand(adapter, { body: { refuse: true } })
      .tellTo(notes)
      .cancel();
    await turn();
    expect(notes.told).toEqual([]);
  });

  it('can be read by waiting as well', async () => {
    adapter.provider.answer = (response) => eventStreamToBegin(response).end(whole);
    const frames = await Array.fromAsync(executeAtHand(adapter));
    expect(frames.map(readable)).toMatchObject([{ status: 200, usage, result: 'SUCCEEDED' }]);
  });
});

describe('a listener', () => {
  it.each([
    ['before the answer', () => undefined],
    ['during the answer', (response) => eventStreamToBegin(response).write(event.text('Hi'))],
    ['while an error is read', (response) => response.writeHead(500).write('so')],
  ] satisfies [string, AdapterUnderTest['provider']['answer']][])(
    'that leaves is told nothing more, and the provider is cut off: %s',
    async (_when, answer) => {
      adapter.provider.answer = answer;
      const notes = new Notes();
      const call = executeAtHand(adapter).tellTo(notes);
      await expect.poll(() => adapter.provider.calls.length).toBe(1);
      call.cancel();
      const told = [...notes.told];
      await expect.poll(() => adapter.provider.calls[0]?.cutOff()).toBe(true);
      expect(notes.told).toEqual(told);
      expect(await openStreams()).toBe(0);
    },
  );

  it('may leave while it is told something', async () => {
    adapter.provider.answer = (response) => eventStreamToBegin(response).end(whole);
    const notes = new Notes();
    const call = executeAtHand(adapter).tellTo({
      onAnswer: (frame) => {
        notes.onAnswer(frame);
        call.cancel();
      },
      onEnd: () => notes.onEnd(),
      onFailure: (reason) => notes.onFailure(reason),
    });
    await expect.poll(() => notes.told).toHaveLength(1);
    await turn();
    expect(notes.told).toHaveLength(1);
  });

  it('that throws fails its own call', async () => {
    adapter.provider.answer = (response) => eventStream(response).write(event.text('Hi'));
    const notes = new Notes();
    executeAtHand(adapter).tellTo({
      onAnswer: () => {
        throw new Error('a fault');
      },
      onEnd: () => notes.onEnd(),
      onFailure: (reason) => notes.onFailure(reason),
    });
    await expect.poll(() => notes.told).toEqual(['failure: a fault']);
    await expect.poll(() => adapter.provider.calls[0]?.cutOff()).toBe(true);
  });

  it('that pauses holds the provider back, and misses nothing', async () => {
    const piece = event.text('x'.repeat(64 * 1024));
    const pieces = 1_000;
    const written = answerAsTaken(adapter.provider, piece, pieces, event.done);
    const notes = new Notes();
    const call = executeAtHand(adapter).tellTo({
      onAnswer: (frame) => {
        if (notes.bytes === 0 && frame.body.length > 0) call.pause();
        notes.onAnswer(frame);
      },
      onEnd: () => notes.onEnd(),
      onFailure: (reason) => notes.onFailure(reason),
    });
    await expect.poll(() => notes.bytes).toBeGreaterThan(0);
    const before = notes.bytes;
    for (let turns = 0; turns < 1_000; turns++) await turn();
    expect(notes.bytes).toBe(before);
    expect(written()).toBeLessThan(pieces / 2);
    call.resume();
    await expect.poll(() => notes.told.at(-1), { timeout: 10_000 }).toBe('end');
    expect(notes.bytes).toBeGreaterThan(pieces * 64 * 1024);
  });
});

const turn = () => new Promise((resolve) => setImmediate(resolve));

async function openStreams(): Promise<number> {
  const text = await adapter.metrics.exposition();
  return Number(/gateway_upstream_open_streams\{.*\} (\d+)/.exec(text)?.[1]);
}
