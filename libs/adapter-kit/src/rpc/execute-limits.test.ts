import { createServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AdapterUnderTest, bearer, readable, send, startAdapter } from '../__fixtures__/adapter-under-test.ts';
import { event } from '../__fixtures__/fake-format.ts';
import { answerAsTaken, eventStream, eventStreamToBegin } from '../__fixtures__/fake-provider.ts';

let adapter: AdapterUnderTest;

describe('a caller that leaves', () => {
  beforeEach(async () => {
    adapter = await startAdapter();
  });
  afterEach(() => adapter[Symbol.asyncDispose]());

  it.each([
    ['before the provider answers', () => undefined, 0],
    ['when the head has come', (response) => eventStream(response), 1],
    ['during the preamble', (response) => eventStreamToBegin(response).write(event.ping), 1],
    ['in the middle of the answer', (response) => eventStreamToBegin(response).write(event.text('Hi')), 1],
    ['while an error is read', (response) => response.writeHead(500).write('so'), 0],
  ] satisfies [string, AdapterUnderTest['provider']['answer'], number][])(
    'cuts the provider off: %s',
    async (_when, answer, framesBefore) => {
      adapter.provider.answer = answer;
      const controller = new AbortController();
      const frames = send(adapter, { signal: controller.signal })[Symbol.asyncIterator]();
      for (let n = 0; n < framesBefore; n++) await frames.next();
      const next = frames.next();
      await expect.poll(() => adapter.provider.calls.length).toBe(1);
      expect(adapter.provider.calls[0]?.cutOff()).toBe(false);
      controller.abort();
      await expect(next).rejects.toMatchObject({ status: 'cancelled' });
      await expect.poll(() => adapter.provider.calls[0]?.cutOff()).toBe(true);
      await expect.poll(() => metric('gateway_upstream_open_streams')).toBe(0);
      await expect.poll(() => metric('gateway_upstream_attempts_total', 'cancelled')).toBe(1);
    },
  );

  it('cuts the provider off even when it takes no frames', async () => {
    adapter.provider.answer = (response) => eventStream(response).write(event.text('Hi'));
    const controller = new AbortController();
    const frames = send(adapter, { signal: controller.signal })[Symbol.asyncIterator]();
    await frames.next();
    controller.abort();
    await expect.poll(() => adapter.provider.calls[0]?.cutOff()).toBe(true);
  });

  it('cuts the provider off by leaving the loop', async () => {
    adapter.provider.answer = (response) => eventStream(response).write(event.text('Hi'));
    for await (const { head } of send(adapter)) if (head !== undefined) break;
    await expect.poll(() => adapter.provider.calls[0]?.cutOff()).toBe(true);
  });

  it('has nothing sent when it leaves before the connection is made', async () => {
    const controller = new AbortController();
    adapter.credential = async () => {
      controller.abort();
      return bearer(adapter.provider.url, 'x');
    };
    const frames = Array.fromAsync(send(adapter, { signal: controller.signal }));
    await expect(frames).rejects.toMatchObject({ status: 'cancelled' });
    await expect.poll(() => metric('gateway_upstream_open_streams')).toBe(0);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(adapter.provider.calls).toEqual([]);
  });
});

describe('a silent provider', () => {
  afterEach(() => adapter[Symbol.asyncDispose]());

  const framesOf = async () => (await Array.fromAsync(send(adapter))).map(readable);
  const timeout = { result: 'TIMEOUT', error: 'providers_unavailable' };

  it('is given up when it does not answer', async () => {
    adapter = await startAdapter({ firstByteTimeoutMs: 60 });
    adapter.provider.answer = () => undefined;
    expect(await framesOf()).toEqual([timeout]);
    await expect.poll(() => adapter.provider.calls[0]?.cutOff()).toBe(true);
  });

  it('is given up when it answers without ever beginning', async () => {
    adapter = await startAdapter({ firstByteTimeoutMs: 500 });
    adapter.provider.answer = (response) => {
      const stream = eventStream(response);
      const pings = setInterval(() => stream.write(event.ping), 20);
      response.on('close', () => clearInterval(pings));
    };
    expect(await framesOf()).toEqual([{ usage: '4 in, 0 out, estimated' }, timeout]);
  });

  it('is given up when it stalls in the middle', async () => {
    adapter = await startAdapter({ idleTimeoutMs: 60 });
    adapter.provider.answer = (response) => eventStream(response).write(event.text('Hello'));
    expect((await framesOf()).at(-1)).toEqual({ usage: '4 in, 2 out, estimated', ...timeout });
  });

  it('may take longer as a whole than for its first content, while it goes on', async () => {
    adapter = await startAdapter({ firstByteTimeoutMs: 500, idleTimeoutMs: 5_000 });
    adapter.provider.answer = (response) => {
      eventStream(response).write(event.think('hm'));
      setTimeout(() => response.end(event.text('Hi') + event.done), 900);
    };
    expect((await framesOf()).at(-1)).toMatchObject({ result: 'SUCCEEDED' });
  });

  describe('that reasons', () => {
    const encrypted = 'x'.repeat(100_000);
    const bounds = { firstByteTimeoutMs: 1_000, idleTimeoutMs: 5_000, maxPreambleBytes: 10_000 };
    /** Writes pieces with this interval. */
    const paced = (pieces: readonly string[], betweenMs: number): AdapterUnderTest['provider']['answer'] => {
      return async (response) => {
        const stream = eventStream(response);
        for (const piece of pieces) {
          stream.write(piece);
          await new Promise((resolve) => setTimeout(resolve, betweenMs));
        }
        response.end();
      };
    };

    it.each([
      ['one long reasoning', [event.reason, event.reasoned(encrypted.repeat(4))]],
      ['several reasonings', Array.from({ length: 4 }, () => [event.reason, event.reasoned(encrypted)]).flat()],
    ])('may send more before its first content than a preamble may hold: %s', async (_what, events) => {
      adapter = await startAdapter(bounds);
      adapter.provider.answer = (response) =>
        eventStream(response).end([...events, event.text('Hi'), event.done].join(''));
      const frames = (await Array.fromAsync(send(adapter))).filter(({ result }) => result !== undefined);
      expect(frames.map(readable)).toMatchObject([{ result: 'SUCCEEDED' }]);
    });

    it('may reason for longer than its first content may take, while it shows that it does', async () => {
      adapter = await startAdapter(bounds);
      const items = Array.from({ length: 5 }, () => event.reason + event.reasoned('x'));
      adapter.provider.answer = paced([...items, event.text('Hi') + event.done], 400);
      const frames = await Array.fromAsync(send(adapter));
      expect(readable(frames.at(-1) ?? expect.fail())).toMatchObject({ result: 'SUCCEEDED' });
      // Until there is content another attempt may be made.
      expect(frames.findIndex(({ head }) => head !== undefined)).toBe(frames.findIndex(({ body }) => body.length > 0));
    });

    it.each([
      ['before its first content', event.reason],
      ['after it', event.text('Hi') + event.reason],
    ])('may be silent for as long as a first content may take, while it reasons: %s', async (_when, began) => {
      adapter = await startAdapter({ firstByteTimeoutMs: 5_000, idleTimeoutMs: 100 });
      adapter.provider.answer = paced([began, event.reasoned('x') + event.done], 600);
      expect((await framesOf()).at(-1)).toMatchObject({ result: 'SUCCEEDED' });
    });

    it.each([
      ['while it reasons', { firstByteTimeoutMs: 300 }, event.reason],
      ['when it has reasoned', { idleTimeoutMs: 300 }, event.reason + event.reasoned('x'.repeat(400))],
    ])('is given up when it is silent for longer, with what it has used: %s', async (_when, limits, began) => {
      adapter = await startAdapter({ firstByteTimeoutMs: 600_000, idleTimeoutMs: 600_000, ...limits });
      adapter.provider.answer = (response) => eventStream(response).write(began);
      const frames = await Array.fromAsync(send(adapter));
      expect(readable(frames.at(-1) ?? expect.fail())).toEqual(timeout);
      const last = frames.findLast(({ usage }) => usage !== undefined);
      expect(last).toMatchObject({ produced: true, usage: { inputTokens: 4, estimated: true } });
      expect(last?.usage?.outputTokens).toBe(began === event.reason ? 0 : 60);
    });

    it('has produced nothing before that: nothing of a preamble is billed', async () => {
      adapter = await startAdapter({ firstByteTimeoutMs: 300 });
      adapter.provider.answer = (response) => eventStream(response).write(event.ping);
      const frames = await Array.fromAsync(send(adapter));
      expect(frames.filter(({ produced }) => produced)).toEqual([]);
    });

    it('is bounded in what it reasons, as in what it writes', async () => {
      adapter = await startAdapter({ maxAnswerBytes: 10_000 });
      adapter.provider.answer = (response) =>
        eventStream(response).write((event.reason + event.reasoned('x'.repeat(10_000))).repeat(2));
      const frames = await Array.fromAsync(send(adapter));
      expect(readable(frames.at(-1) ?? expect.fail())).toMatchObject({ result: 'ANSWER_TOO_LARGE' });
    });
  });

  it('is given up when no connection can be made in time', async () => {
    adapter = await startAdapter({ connectTimeoutMs: 100 });
    // Accepts connections but never completes a TLS handshake.
    const mute = createServer();
    await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
    const address = mute.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    adapter.credential = async () => bearer(`https://127.0.0.1:${port}`, 'x');
    expect(await framesOf()).toEqual([timeout]);
    mute.close();
  });
});

describe('memory', () => {
  afterEach(() => adapter[Symbol.asyncDispose]());

  it('stays flat when the caller is slow: the provider is slowed down', async () => {
    adapter = await startAdapter({ idleTimeoutMs: 400 });
    const piece = event.text('x'.repeat(64 * 1024));
    const pieces = 1_000;
    const written = answerAsTaken(adapter.provider, piece, pieces, event.done);
    const frames = send(adapter)[Symbol.asyncIterator]();
    await frames.next();
    await frames.next();
    const stopped = await whenStill(written);
    expect(stopped).toBeLessThan(pieces / 2);

    let characters = 0;
    let result: string | undefined;
    for await (const frame of { [Symbol.asyncIterator]: () => frames }) {
      characters += frame.body.length;
      result = readable(frame).result ?? result;
    }
    expect(result).toBe('SUCCEEDED');
    expect(characters).toBeGreaterThan((pieces - 10) * 64 * 1024);
  });

  it('is not given to a preamble without end', async () => {
    adapter = await startAdapter({ maxPreambleBytes: 10_000 });
    adapter.provider.answer = (response) => eventStream(response).write(event.ping.repeat(1_000));
    expect((await Array.fromAsync(send(adapter))).map(readable).at(-1)).toEqual({
      result: 'SERVER_ERROR',
      error: 'providers_unavailable',
    });
    await expect.poll(() => adapter.provider.calls[0]?.cutOff()).toBe(true);
  });

  it('has room for a first content that is merely large', async () => {
    adapter = await startAdapter({ maxPreambleBytes: 10_000 });
    const text = '0123456789abcdef'.repeat(200_000);
    adapter.provider.answer = (response) => eventStream(response).end(event.ping + event.text(text) + event.done);
    const frames = await Array.fromAsync(send(adapter));
    expect(readable(frames.at(-1) ?? expect.fail())).toMatchObject({ result: 'SUCCEEDED' });
    expect(Buffer.concat(frames.map(({ body }) => body)).includes(text)).toBe(true);
  });

  it('is not given to a preamble of one large event that says nothing', async () => {
    adapter = await startAdapter({ maxPreambleBytes: 10_000 });
    const ping = event.ping.replace('x', 'x'.repeat(3_000_000));
    adapter.provider.answer = (response) => eventStream(response).write(ping);
    const frames = await Array.fromAsync(send(adapter));
    expect(frames.map(readable).at(-1)).toEqual({ result: 'SERVER_ERROR', error: 'providers_unavailable' });
  });

  it('is not given to an answer without end that is buffered: it ends there, with what it has used', async () => {
    adapter = await startAdapter({ maxAnswerBytes: 10_000 });
    adapter.provider.answer = (response) => eventStream(response).write(event.think('x'.repeat(1_000)).repeat(20));
    const frames = (await Array.fromAsync(send(adapter))).map(readable);
    expect(frames.at(-1)).toEqual({ result: 'ANSWER_TOO_LARGE', error: 'internal_error' });
    expect(frames.at(-2)).toMatchObject({ usage: '4 in, 5000 out, estimated' });
    await expect.poll(() => adapter.provider.calls[0]?.cutOff()).toBe(true);
  });

  it('is not needed between services for all of a large answer: it goes in parts', async () => {
    adapter = await startAdapter({ maxPreambleBytes: 10_000_000 });
    const text = '0123456789abcdef'.repeat(65_536);
    adapter.provider.answer = (response) => eventStream(response).end(event.text(text) + event.done);
    const frames = await Array.fromAsync(send(adapter, { body: { stream: false } }));
    expect(Math.max(...frames.map(({ body }) => body.length))).toBe(256 * 1024);
    expect(frames.filter(({ head }) => head !== undefined)).toHaveLength(1);
    // A client that leaves before the last part is charged what the provider has reported.
    expect(frames.find(({ head }) => head !== undefined)?.usage).toEqual(frames.at(-1)?.usage);
    expect(frames.filter(({ result }) => result !== undefined)).toEqual([frames.at(-1)]);
    const { choices } = JSON.parse(Buffer.concat(frames.map(({ body }) => body)).toString());
    expect(choices[0].message.content).toBe(text);
  });

  it('has room for a preamble that repeats a large request', async () => {
    adapter = await startAdapter({ maxPreambleBytes: 10_000 });
    adapter.provider.answer = (response) => eventStream(response).end(event.ping.repeat(1_000) + event.done);
    const frames = await Array.fromAsync(send(adapter, { body: { stream: true, text: 'word '.repeat(10_000) } }));
    expect(readable(frames.at(-1) ?? expect.fail())).toMatchObject({ result: 'SUCCEEDED' });
  });
});

async function metric(name: string, label = ''): Promise<number> {
  const lines = (await adapter.metrics.exposition()).split('\n');
  const line = lines.find((text) => text.startsWith(`${name}{`) && text.includes(label));
  return Number(line?.split(' ').at(-1) ?? Number.NaN);
}

/** The value once it has stopped changing. */
async function whenStill(value: () => number): Promise<number> {
  for (let last = Number.NaN; ; ) {
    const now = value();
    if (now === last) return now;
    last = now;
    await new Promise((resolve) => setTimeout(resolve, 600));
  }
}
