import { createServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { type AdapterUnderTest, bearer, sendForAllFrames, startAdapter } from '../__fixtures__/adapter-under-test.ts';
import { event } from '../__fixtures__/fake-format.ts';
import { eventStreamToBegin } from '../__fixtures__/fake-provider.ts';

let adapter: AdapterUnderTest;
afterEach(() => adapter[Symbol.asyncDispose]());

describe('a frame says that the request was sent', () => {
  it('before the provider says anything, with what the input is worth', async () => {
    adapter = await startAdapter();
    adapter.provider.answer = () => undefined;
    const controller = new AbortController();
    const frames = sendForAllFrames(adapter, { signal: controller.signal })[Symbol.asyncIterator]();
    const { value: frame } = await frames.next();
    expect(frame).toMatchObject({ sent: true, usage: { inputTokens: 4, outputTokens: 0, estimated: true } });
    expect([frame?.head, frame?.result]).toEqual([undefined, undefined]);
    await expect.poll(() => adapter.provider.calls.length).toBe(1);
    controller.abort();
  });

  it('once, in a frame of its own', async () => {
    adapter = await startAdapter();
    adapter.provider.answer = (response) => eventStreamToBegin(response).end(event.text('Hi') + event.done);
    const frames = await Array.fromAsync(sendForAllFrames(adapter));
    expect(frames.map(({ sent }) => sent)).toEqual([true, false]);
  });

  it('never, when no connection was there to send it on', async () => {
    adapter = await startAdapter({ connectTimeoutMs: 100 });
    // Accepts connections but never completes a TLS handshake.
    const mute = createServer();
    await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
    const address = mute.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    adapter.credential = async () => bearer(`https://127.0.0.1:${port}`, 'x');
    const frames = await Array.fromAsync(sendForAllFrames(adapter));
    expect(frames.map(({ sent }) => sent)).toEqual([false]);
    mute.close();
  });
});
