import { Dialect } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { afterEach, describe, expect, it } from 'vitest';
import { type AdapterUnderTest, bearer, readable, send, startAdapter } from '../__fixtures__/adapter-under-test.ts';
import { event, fakeFormat } from '../__fixtures__/fake-format.ts';
import { eventStream } from '../__fixtures__/fake-provider.ts';

let adapter: AdapterUnderTest;
afterEach(() => adapter[Symbol.asyncDispose]());

it('a secret that cannot stand in a header fails its attempt before anything is sent', async () => {
  adapter = await startAdapter();
  adapter.credential = async () => bearer(adapter.provider.url, 'a\r\nx: b');
  const frames = await Array.fromAsync(send(adapter));
  expect(frames.map(readable)).toEqual([{ result: 'NETWORK_ERROR', error: 'providers_unavailable' }]);
  expect(adapter.provider.calls).toEqual([]);
});

describe('a body in pieces', () => {
  it.each([
    ['small', 100],
    ['large', 3_000_000],
  ])('arrives as one, with its length: %s', async (_size, length) => {
    const pieces = [Buffer.from('{"é":"'), Buffer.alloc(length, 'xyz'), Buffer.from('"}')];
    adapter = await startAdapter({}, sending(pieces));
    adapter.provider.answer = (response) => eventStream(response).end(event.text('Hi') + event.done);
    const frames = await Array.fromAsync(send(adapter));
    expect(readable(frames.at(-1) ?? expect.fail()).result).toBe('SUCCEEDED');
    const [call] = adapter.provider.calls;
    const whole = Buffer.concat(pieces);
    expect(call?.body === whole.toString()).toBe(true);
    expect(call?.headers).toMatchObject({ 'content-length': String(whole.length), authorization: 'Bearer secret-1' });
  });

  it('is not sent on once its request is given up', async () => {
    adapter = await startAdapter({ firstByteTimeoutMs: 100 }, sending([Buffer.alloc(20_000_000)]));
    adapter.provider.answer = () => undefined;
    const frames = (await Array.fromAsync(send(adapter))).map(readable);
    expect(frames).toEqual([{ result: 'TIMEOUT', error: 'providers_unavailable' }]);
  });
});

function sending(body: readonly Uint8Array[]): typeof fakeFormat {
  const translator = fakeFormat.translators.get(Dialect.CHAT_COMPLETIONS) ?? expect.fail();
  const inPieces = {
    prepare: (...request: Parameters<typeof translator.prepare>) => ({ ...translator.prepare(...request), body }),
  };
  return { ...fakeFormat, translators: new Map([[Dialect.CHAT_COMPLETIONS, inPieces]]) };
}
