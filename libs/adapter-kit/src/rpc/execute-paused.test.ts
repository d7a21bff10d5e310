import { setTimeout as sleep } from 'node:timers/promises';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { afterEach, describe, expect, inject, it } from 'vitest';
import { type AdapterUnderTest, send, startAdapter } from '../__fixtures__/adapter-under-test.ts';
import { event } from '../__fixtures__/fake-format.ts';
import { answerAsTaken, eventStreamToBegin } from '../__fixtures__/fake-provider.ts';

let adapter: AdapterUnderTest;
afterEach(() => adapter[Symbol.asyncDispose]());

const piece = event.text('x'.repeat(64 * 1024));

describe('a pause of the caller', () => {
  /** Starts to read an answer and then stops reading. */
  const pausing = async () => {
    const frames = send(adapter)[Symbol.asyncIterator]();
    for (let n = 0; n < 2; n++) await frames.next();
    return frames;
  };
  const openStreams = async () => {
    const text = await adapter.metrics.exposition();
    return Number(/gateway_upstream_open_streams\{.*\} (\d+)/.exec(text)?.[1]);
  };

  it('is no silence of the provider, but does not keep the exchange alive for longer than a stream may last', async () => {
    adapter = await startAdapter({ idleTimeoutMs: 200, maxStreamMs: 1_500 * inject('slowness') });
    answerAsTaken(adapter.provider, piece, 1_000, event.done);
    const frames = await pausing();
    await sleep(700);
    expect(await openStreams()).toBe(1);
    await expect.poll(openStreams).toBe(0);
    const rest = await Array.fromAsync({ [Symbol.asyncIterator]: () => frames });
    // The provider's account did not cause the delay.
    expect(rest.at(-1)?.result?.attempt).toMatchObject({ result: AttemptResult.CANCELLED });
  });

  it('is followed by no more patience with a silent provider than before it', async () => {
    adapter = await startAdapter({ idleTimeoutMs: 300 });
    adapter.provider.answer = (response) => eventStreamToBegin(response).write(piece.repeat(40));
    const frames = await pausing();
    await sleep(900);
    expect(await openStreams()).toBe(1);
    const rest = await Array.fromAsync({ [Symbol.asyncIterator]: () => frames });
    expect(rest.at(-1)?.result?.attempt).toMatchObject({ result: AttemptResult.TIMEOUT });
  });
});
