import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AdapterUnderTest, readable, send, startAdapter } from '../__fixtures__/adapter-under-test.ts';
import { event } from '../__fixtures__/fake-format.ts';
import { eventStream } from '../__fixtures__/fake-provider.ts';

let adapter: AdapterUnderTest;
beforeEach(async () => {
  adapter = await startAdapter();
});
afterEach(() => adapter[Symbol.asyncDispose]());

const framesOf = async (body: object) => (await Array.fromAsync(send(adapter, { body }))).map(readable);
const sentBodies = () => adapter.provider.calls.map(({ body }) => JSON.parse(body));
const amendedCount = () => metric('gateway_upstream_amended_requests_total');
const metric = async (name: string) => {
  const line = (await adapter.metrics.exposition()).split('\n').find((text) => text.startsWith(`${name}{`));
  return Number(line?.split(' ').at(-1) ?? 0);
};

/** Refuses the part that the request can do without, in the given way. */
function refuseSpare(refuse: 'status' | 'event'): void {
  adapter.provider.answer = (response, { body }) => {
    if (!body.includes('spare')) eventStream(response).end(event.text('Hi') + event.done);
    else if (refuse === 'status') response.writeHead(400).end('{}');
    else eventStream(response).end(event.ping + event.fail);
  };
}

describe('a provider that refuses what a request can do without', () => {
  it.each(['status', 'event'] as const)('is asked once more without, after its %s', async (refuse) => {
    refuseSpare(refuse);
    const frames = await framesOf({ stream: true, spare: 1 });
    expect(sentBodies()).toEqual([{ stream: true, spare: 1 }, { stream: true }]);
    expect(frames.at(-1)).toMatchObject({ status: 200, result: 'SUCCEEDED' });
    expect(await amendedCount()).toBe(1);
    expect(await metric('gateway_upstream_attempts_total')).toBe(1);
  });

  it('leaves word of it in the result, and only then', async () => {
    const resultOf = async (body: object) => (await Array.fromAsync(send(adapter, { body }))).at(-1)?.result?.amended;
    refuseSpare('status');
    expect(await resultOf({ stream: true, spare: 1 })).toBe('rejected');
    expect(await resultOf({ stream: true })).toBe('');
    adapter.provider.answer = (response) => response.writeHead(400).end('{}');
    expect(await resultOf({ stream: true, spare: 1 })).toBe('rejected');
    expect(await resultOf({ stream: true })).toBe('');
  });

  it('is asked no third time', async () => {
    adapter.provider.answer = (response) => response.writeHead(400).end('{}');
    const frames = await framesOf({ stream: true, spare: 1 });
    expect(sentBodies()).toEqual([{ stream: true, spare: 1 }, { stream: true }]);
    expect(frames.at(-1)).toMatchObject({ result: 'SERVER_ERROR' });
  });

  it('is not asked again when there is nothing to leave out', async () => {
    adapter.provider.answer = (response) => response.writeHead(400).end('{}');
    await framesOf({ stream: true });
    expect(sentBodies()).toEqual([{ stream: true }]);
    expect(await amendedCount()).toBe(0);
  });

  it('is not asked again once the client has some of the answer', async () => {
    adapter.provider.answer = (response) => {
      eventStream(response).write(event.text('Hi'));
      setTimeout(() => response.end(event.fail), 30);
    };
    const frames = await framesOf({ stream: true, spare: 1 });
    expect(sentBodies()).toHaveLength(1);
    expect(frames.at(-1)).toMatchObject({ result: 'OVERLOADED' });
  });
});

describe('what else is reported of an answer', () => {
  it('is the digest of its last encrypted reasoning, with the result', async () => {
    adapter.provider.answer = (response) =>
      eventStream(response).end(
        event.reasoning('digest-1') + event.text('Hi') + event.reasoning('digest-2') + event.done,
      );
    const frames = await Array.fromAsync(send(adapter));
    expect(frames.at(-1)?.result?.encryptedReasoning).toBe('digest-2');
  });

  it('is how many of its events were unknown, in a metric', async () => {
    adapter.provider.answer = (response) =>
      eventStream(response).end(event.unknown + event.text('Hi') + event.unknown + event.done);
    await framesOf({ stream: true });
    expect(await metric('gateway_upstream_unknown_events_total')).toBe(2);
  });
});
