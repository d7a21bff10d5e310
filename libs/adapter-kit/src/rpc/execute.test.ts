import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { create } from '@bufbuild/protobuf';
import { GatewayError } from '@gateway/errors';
import { Dialect, type ExecuteResponse } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { AccountProblem } from '@gateway/proto/pool/v1/account_pb.js';
import { GetCredentialResponseSchema } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { RpcError } from '@gateway/rpc';
import { epochMs } from '@gateway/time';
import { ManualTime } from '@gateway/time/simulated';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { type AdapterUnderTest, bearer, readable, send, startAdapter } from '../__fixtures__/adapter-under-test.ts';
import { event } from '../__fixtures__/fake-format.ts';
import { eventStream, eventStreamToBegin } from '../__fixtures__/fake-provider.ts';

let adapter: AdapterUnderTest;
beforeEach(async () => {
  adapter = await startAdapter();
});
afterEach(() => adapter[Symbol.asyncDispose]());

const usage = { inputTokens: 10, cachedTokens: 2, outputTokens: 3, reasoningTokens: 1 };

let received: ExecuteResponse[] = [];

/** The frames of one request; `received` contains them as they arrive. */
async function framesOf(sending?: Parameters<typeof send>[1]) {
  received = [];
  for await (const frame of send(adapter, sending)) received.push(frame);
  return received.map(readable);
}

/** Lets a provider wait until its frames have arrived. */
const arrived = (frames: number) => expect.poll(() => received.length, { interval: 2 }).toBe(frames);

describe('what the provider is sent', () => {
  it('is the prepared call with the account’s secret, and nothing of the client besides', async () => {
    adapter.provider.answer = (response) => eventStream(response).end(event.done);
    await framesOf({ forwardHeaders: { 'x-beta': 'b' } });
    expect(adapter.provider.calls).toMatchObject([{ method: 'POST', url: '/base/answer', body: '{"stream":true}' }]);
    const { host: _, connection: __, ...headers } = adapter.provider.calls[0]?.headers ?? {};
    expect(headers).toEqual({
      'content-type': 'application/json',
      'content-length': '15',
      accept: 'text/event-stream',
      'accept-encoding': 'identity',
      'user-agent': 'model-gateway',
      authorization: 'Bearer secret-1',
      'x-format-version': '7',
      'x-beta': 'b',
    });
  });

  it('carries an API key in its own header', async () => {
    adapter.credential = async () =>
      create(GetCredentialResponseSchema, {
        baseUrl: `${adapter.provider.url}/`,
        secret: { case: 'apiKey', value: 'key-1' },
      });
    await framesOf();
    expect(adapter.provider.calls[0]).toMatchObject({ url: '/answer', headers: { 'x-api-key': 'key-1' } });
    expect(adapter.provider.calls[0]?.headers).not.toHaveProperty('authorization');
  });

  it('is nothing when the request is refused before', async () => {
    await expect(framesOf({ body: { refuse: true } })).rejects.toMatchObject({ code: 'unsupported_content' });
    await expect(framesOf({ dialect: Dialect.RESPONSES })).rejects.toMatchObject({ code: 'model_not_found' });
    expect(adapter.provider.calls).toEqual([]);
  });
});

describe('a streamed answer', () => {
  it('reports usage first, the head with the first content, and the result with the last bytes', async () => {
    adapter.provider.answer = async (response) => {
      eventStream(response);
      await arrived(1);
      response.write(event.ping + event.usage({ ...usage, outputTokens: 1, reasoningTokens: 0 }));
      await arrived(2);
      response.write(event.text('Hello'));
      await arrived(3);
      response.end(event.usage(usage) + event.done);
    };
    const frames = await framesOf();
    expect(frames.map(({ body, ...rest }) => rest)).toEqual([
      { usage: '4 in, 0 out, estimated' },
      { usage: '10 in, 1 out, estimated' },
      { status: 200, usage: '10 in, 2 out, estimated' },
      { usage: '10 in, 3 out', result: 'SUCCEEDED' },
    ]);
    expect(frames.map(({ body }) => body?.match(/"content":"Hello"|\[DONE\]/)?.[0])).toEqual([
      undefined,
      undefined,
      '"content":"Hello"',
      '[DONE]',
    ]);
  });

  it('is one frame when it comes in one read', async () => {
    adapter.provider.answer = (response) =>
      eventStreamToBegin(response).end(event.text('Hi') + event.usage(usage) + event.done);
    expect(await framesOf()).toMatchObject([{ status: 200, usage: '10 in, 3 out', result: 'SUCCEEDED' }]);
  });

  it('is one frame for all chunks of one read', async () => {
    adapter.provider.answer = async (response) => {
      eventStream(response);
      await arrived(1);
      for (const text of ['a', 'b', 'c']) response.write(event.text(text));
      await arrived(2);
      response.end(event.done);
    };
    const [, chunks, ...rest] = await framesOf();
    expect(chunks).toMatchObject({ status: 200, usage: '4 in, 1 out, estimated' });
    expect(chunks?.body?.match(/"content":"[abc]"/g)).toHaveLength(3);
    expect(rest).toMatchObject([{ result: 'SUCCEEDED' }]);
  });

  it('reports an estimate when the provider reports no usage', async () => {
    adapter.provider.answer = (response) => eventStream(response).end(event.text('x'.repeat(9)) + event.done);
    expect((await framesOf()).at(-1)).toMatchObject({ usage: '4 in, 3 out, estimated', result: 'SUCCEEDED' });
  });

  it('reports the output of long reasoning before any content', async () => {
    adapter.provider.answer = async (response) => {
      eventStream(response);
      await arrived(1);
      response.write(event.think('x'.repeat(4_000)));
      await arrived(2);
      response.end(event.done);
    };
    expect((await framesOf())[1]).toEqual({ usage: '4 in, 1000 out, estimated' });
  });

  it('gives the connection back for the next request', async () => {
    adapter.provider.answer = (response) => {
      eventStream(response).write(event.done);
      setTimeout(() => response.end(event.ping), 50);
    };
    const ports = new Set<number | undefined>();
    for (let n = 0; n < 3; n++) {
      await framesOf();
      await expect.poll(() => openStreams()).toBe(0);
      await settled();
      ports.add(adapter.provider.calls.at(-1)?.clientPort);
    }
    expect(ports.size).toBe(1);
  });
});

describe('the head of an answer', () => {
  it('can have what the provider’s head says, and names the answer', async () => {
    adapter.provider.answer = (response) =>
      response
        .writeHead(200, { 'content-type': 'text/event-stream', 'X-Turn': 't1' })
        .end(event.id('msg_1') + event.text('Hi') + event.done);
    await framesOf();
    expect(received.at(-1)?.head).toMatchObject({ status: 200, answerId: 'msg_1', headers: { 'x-turn': 't1' } });
  });

  it('names no answer when the provider does not', async () => {
    adapter.provider.answer = (response) => eventStream(response).end(event.done);
    await framesOf();
    expect(received.at(-1)?.head?.answerId).toBe('');
  });
});

const encoders: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  gzip: gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
  zstd: zstdCompressSync,
  'gzip, br': (bytes) => brotliCompressSync(gzipSync(bytes)),
};
const encoded = (encoding: string, text: string) => encoders[encoding]?.(Buffer.from(text));

describe('an answer that comes encoded, though that was not asked for', () => {
  it.each(Object.keys(encoders))('is read as it was before: %s', async (encoding) => {
    const headers = { 'content-type': 'text/event-stream', 'content-encoding': encoding };
    adapter.provider.answer = (response) =>
      response.writeHead(200, headers).end(encoded(encoding, event.text('Hi') + event.done));
    const frames = await framesOf();
    expect(frames.map(({ body = '' }) => body).join('')).toContain('"Hi"');
    expect(frames.at(-1)?.result).toBe('SUCCEEDED');
    expect(adapter.provider.calls.at(-1)?.headers['accept-encoding']).toBe('identity');
  });
});

describe('the provider’s own error answer', () => {
  const refusal = '{"error":{"message":"The provider’s words."}}';
  const refuse = (status: number, body = refusal) => {
    adapter.provider.answer = (response) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(body);
  };
  const passedOn = async (dialect: Dialect) => {
    await framesOf({ dialect });
    return received.at(-1)?.result?.upstreamAnswer;
  };

  it('goes along for a dialect that passes errors on, and only there', async () => {
    refuse(422);
    const answer = await passedOn(Dialect.MESSAGES);
    expect(answer).toMatchObject({ status: 422, contentType: 'application/json' });
    expect(Buffer.from(answer?.body ?? []).toString()).toBe(refusal);
    expect(await passedOn(Dialect.CHAT_COMPLETIONS)).toBeUndefined();
  });

  it('goes along up to 64 KiB, with or without a content type', async () => {
    adapter.provider.answer = (response) => response.writeHead(500).end('x'.repeat(100_000));
    const answer = await passedOn(Dialect.MESSAGES);
    expect([answer?.contentType, answer?.body.length]).toEqual(['', 64 * 1024]);
  });

  it.each(Object.keys(encoders))('goes along decoded, also to its 64 KiB, when it is encoded: %s', async (encoding) => {
    for (const body of [refusal, 'x'.repeat(1_000_000)]) {
      adapter.provider.answer = (response) =>
        response.writeHead(422, { 'content-encoding': encoding }).end(encoded(encoding, body));
      const answer = await passedOn(Dialect.MESSAGES);
      expect(Buffer.from(answer?.body ?? []).toString()).toBe(body.slice(0, 64 * 1024));
    }
  });

  it.each([
    ['is not known', 'compress', refusal],
    ['is not what its header says', 'gzip', refusal],
  ])('stays here when its encoding %s', async (_what, encoding, body) => {
    adapter.provider.answer = (response) => response.writeHead(422, { 'content-encoding': encoding }).end(body);
    const answer = await passedOn(Dialect.MESSAGES);
    expect(Buffer.from(answer?.body ?? []).toString()).toBe('');
    expect(received.at(-1)?.result?.attempt?.upstreamStatus).toBe(422);
  });

  it('stays here when it refuses the credential', async () => {
    refuse(401);
    expect(await passedOn(Dialect.MESSAGES)).toBeUndefined();
  });

  it.each([402, 403])('goes along when it refuses the account: %i', async (status) => {
    refuse(status);
    expect(await passedOn(Dialect.MESSAGES)).toMatchObject({ status });
    expect(await passedOn(Dialect.CHAT_COMPLETIONS)).toBeUndefined();
  });

  it.each([401, 402, 403])('stays here when it is a page: %i', async (status) => {
    adapter.provider.answer = (response) => response.writeHead(status, { 'content-type': 'text/html' }).end('403');
    expect(await passedOn(Dialect.MESSAGES)).toBeUndefined();
    adapter.provider.answer = (response) => response.writeHead(status).end('\n<!DOCTYPE html>');
    expect(await passedOn(Dialect.MESSAGES)).toBeUndefined();
  });

  it('can stand inside a 200, before the first content', async () => {
    adapter.provider.answer = (response) => eventStream(response).end(event.ping + event.fail);
    expect(await passedOn(Dialect.MESSAGES)).toMatchObject({ status: 200, body: Buffer.from('{}') });
    expect(await passedOn(Dialect.CHAT_COMPLETIONS)).toBeUndefined();
  });

  it('does not come after the first content, nor where the provider gave none', async () => {
    adapter.provider.answer = async (response) => {
      eventStreamToBegin(response).write(event.text('Hello'));
      await arrived(1);
      response.end(event.fail);
    };
    expect(await passedOn(Dialect.MESSAGES)).toBeUndefined();
    adapter.provider.answer = (response) => response.socket?.resetAndDestroy();
    expect(await passedOn(Dialect.MESSAGES)).toBeUndefined();
  });
});

describe('an assembled answer', () => {
  it('is one frame with everything', async () => {
    adapter.provider.answer = async (response) => {
      eventStream(response);
      await arrived(1);
      response.end(event.text('Hel') + event.text('lo') + event.usage(usage) + event.done);
    };
    const frames = await framesOf({ body: { stream: false } });
    expect(frames).toMatchObject([{}, { status: 200, usage: '10 in, 3 out', result: 'SUCCEEDED' }]);
    expect(JSON.parse(frames[1]?.body ?? '')).toMatchObject({ choices: [{ message: { content: 'Hello' } }] });
  });

  it('may still move on when the provider breaks off', async () => {
    adapter.provider.answer = async (response) => {
      eventStream(response).write(event.text('Hel'));
      await settled();
      response.socket?.resetAndDestroy();
    };
    expect((await framesOf({ body: { stream: false } })).at(-1)).toEqual({
      result: 'SERVER_ERROR',
      error: 'providers_unavailable',
    });
  });
});

describe('a failure before the first content', () => {
  const early = { usage: '4 in, 0 out, estimated' };

  it('is reported as the format reads it, in one frame without a head', async () => {
    adapter.provider.answer = (response) => response.writeHead(429).end('x'.repeat(70 * 1024));
    expect(await framesOf()).toEqual([{ result: 'RATE_LIMITED', error: 'pool_exhausted' }]);
    const attempt = received[0]?.result?.attempt;
    expect(attempt).toMatchObject({ modelScoped: true, upstreamStatus: 429, answerBegan: false });
    expect(attempt?.retryAtMs).toBe(5_000);
    expect(received[0]?.result?.error?.message).toBe(`${64 * 1024} bytes`);
  });

  it('inside a 200 can be reported as such', async () => {
    adapter.provider.answer = (response) => eventStream(response).end(event.ping + event.fail);
    expect(await framesOf()).toEqual([early, { result: 'OVERLOADED', error: 'pool_exhausted' }]);
  });

  it('in the same read as the first content still lets another attempt be made', async () => {
    adapter.provider.answer = (response) => eventStreamToBegin(response).end(event.text('Hi') + event.fail);
    expect(await framesOf()).toEqual([
      { usage: '4 in, 1 out, estimated' },
      { result: 'OVERLOADED', error: 'pool_exhausted' },
    ]);
  });

  it.each([
    ['a page', 200, 'text/html', '<html>'],
    ['a redirect', 302, 'text/event-stream', ''],
  ])('is an answer that is not the provider’s: %s', async (_name, status, contentType, body) => {
    adapter.provider.answer = (response) => response.writeHead(status, { 'content-type': contentType }).end(body);
    expect(await framesOf()).toEqual([{ result: 'NETWORK_ERROR', error: 'providers_unavailable' }]);
  });

  it('is an answer in an encoding that is not known', async () => {
    const headers = { 'content-type': 'text/event-stream', 'content-encoding': 'compress' };
    adapter.provider.answer = (response) => response.writeHead(200, headers).end(event.done);
    expect(await framesOf()).toEqual([{ result: 'NETWORK_ERROR', error: 'providers_unavailable' }]);
  });

  it('is an answer whose encoding breaks', async () => {
    const headers = { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' };
    adapter.provider.answer = (response) =>
      response.writeHead(200, headers).end(gzipSync(event.text('Hi') + event.done).subarray(0, -12));
    expect((await framesOf()).at(-1)).toMatchObject({ result: 'SERVER_ERROR', error: 'providers_unavailable' });
  });

  it('is JSON in place of a stream, as the reader takes it', async () => {
    adapter.provider.answer = (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    expect(await framesOf()).toEqual([early, { result: 'OVERLOADED', error: 'pool_exhausted' }]);
  });

  it('is a refused connection, or one that is cut', async () => {
    adapter.provider.answer = (response) => response.socket?.resetAndDestroy();
    expect(await framesOf()).toEqual([{ result: 'NETWORK_ERROR', error: 'providers_unavailable' }]);
    using _ = new ManualTime(epochMs() + 120_000);
    adapter.credential = async () => bearer('http://127.0.0.1:9', 'x');
    expect(await framesOf()).toEqual([{ result: 'NETWORK_ERROR', error: 'providers_unavailable' }]);
  });

  it('is a fault of the reader', async () => {
    adapter.provider.answer = (response) => eventStream(response).write(event.throw);
    expect(await framesOf()).toEqual([early, { result: 'SERVER_ERROR', error: 'providers_unavailable' }]);
    await expect.poll(() => adapter.provider.calls[0]?.cutOff()).toBe(true);
  });
});

describe('a failure after the first content', () => {
  it.each([
    ['the provider says so', 'OVERLOADED'],
    ['the connection is cut', 'SERVER_ERROR'],
    ['a reader faults', 'SERVER_ERROR'],
  ])('is reported in generic words with what was used: %s', async (cause, result) => {
    adapter.provider.answer = async (response) => {
      eventStreamToBegin(response).write(event.text('Hello'));
      await arrived(1);
      if (cause === 'the provider says so') response.end(event.text(' you') + event.fail);
      if (cause === 'the connection is cut') response.socket?.resetAndDestroy();
      if (cause === 'a reader faults') response.write(event.throw);
    };
    const frames = await framesOf();
    expect(frames[0]).toMatchObject({ status: 200, usage: '4 in, 2 out, estimated' });
    expect(frames[1]).toMatchObject({ result, error: 'providers_unavailable' });
    expect(received[1]?.result).toMatchObject({ attempt: { answerBegan: true }, answerComplete: false });
    expect(received[1]?.result?.error?.message).not.toContain('reader');
    const text = frames.map(({ body }) => body).join('');
    expect(text.includes(' you')).toBe(cause === 'the provider says so');
    expect(text).not.toContain('[DONE]');
  });

  it('is reported behind what came with it in one read', async () => {
    adapter.provider.answer = (response) => eventStreamToBegin(response).end(event.text('Hello'));
    const [first, last] = await framesOf();
    expect(first).toMatchObject({ status: 200, usage: '4 in, 2 out, estimated' });
    expect(first?.body).toContain('Hello');
    expect(last).toMatchObject({ result: 'OVERLOADED', error: 'providers_unavailable' });
  });
});

describe('a refused secret', () => {
  it('is replaced by a newer one, once', async () => {
    adapter.provider.answer = (response, { headers }) =>
      headers.authorization === 'Bearer secret-2'
        ? eventStream(response).end(event.done)
        : response.writeHead(401).end('{}');
    await framesOf();
    adapter.credential = async () => bearer(adapter.provider.url, 'secret-2');
    expect((await framesOf()).at(-1)).toMatchObject({ result: 'SUCCEEDED' });
  });

  it('is replaced within a second or so, also while the body of the refusal does not come', async () => {
    adapter.provider.answer = (response, { headers }) => {
      if (headers.authorization === 'Bearer secret-2') eventStream(response).end(event.done);
      else response.writeHead(401).write('{');
    };
    await adapter.context.credentials.ofAccount('pool/a');
    adapter.credential = async () => bearer(adapter.provider.url, 'secret-2');
    const startedMs = performance.now();
    expect((await framesOf()).at(-1)).toMatchObject({ result: 'SUCCEEDED' });
    expect(performance.now() - startedMs).toBeLessThan(3_000 * inject('slowness'));
  });

  it('is reported when there is no newer one, and is not kept', async () => {
    adapter.provider.answer = (response) => response.writeHead(401).end('{}');
    expect(await framesOf()).toMatchObject([{ result: 'SERVER_ERROR' }]);
    expect(adapter.provider.calls).toHaveLength(1);
    expect(adapter.asked).toHaveLength(2);
  });
});

describe('a revoked secret', () => {
  const problemOf = async () => (await Array.fromAsync(send(adapter))).at(-1)?.result?.attempt?.problem;
  const refuseAll = (status: number) => {
    adapter.provider.answer = (response) => response.writeHead(status).end('revoked');
  };
  /** An account whose tokens the broker refreshes: each request for a token returns another one. */
  const renewing = () => {
    let count = 0;
    adapter.credential = async () => bearer(adapter.provider.url, `secret-${++count}`, `v${count}`);
  };

  it.each([401, 403])('ends its account at once when nothing can take its place: %i', async (status) => {
    refuseAll(status);
    expect(await problemOf()).toBe(AccountProblem.CREDENTIAL_REVOKED);
    expect(adapter.provider.calls).toHaveLength(1);
  });

  it.each([
    [401, ['Bearer secret-1', 'Bearer secret-2', 'Bearer secret-3']],
    [403, ['Bearer secret-1', 'Bearer secret-2']],
  ])(
    'is replaced first where it can be, and ends its account only with its successors: %i',
    async (status, secrets) => {
      renewing();
      refuseAll(status);
      expect(await problemOf()).toBe(AccountProblem.CREDENTIAL_REVOKED);
      const sent = adapter.provider.calls.map(({ headers }) => headers.authorization);
      expect(sent).toEqual(secrets);
    },
  );

  it('is replaced once more when what took its place was as old: the broker has to learn that too', async () => {
    renewing();
    adapter.provider.answer = (response, { headers }) =>
      headers.authorization === 'Bearer secret-3'
        ? eventStream(response).end(event.done)
        : response.writeHead(401).end('revoked');
    expect((await framesOf()).at(-1)).toMatchObject({ result: 'SUCCEEDED' });
    expect(adapter.provider.calls).toHaveLength(3);
  });

  it.each([401, 403])('is no fault of the account when its successor serves: %i', async (status) => {
    renewing();
    adapter.provider.answer = (response, { headers }) =>
      headers.authorization === 'Bearer secret-2'
        ? eventStream(response).end(event.done)
        : response.writeHead(status).end('revoked');
    expect((await framesOf()).at(-1)).toMatchObject({ result: 'SUCCEEDED' });
  });

  it('does not end its account while there may be a successor that cannot be had now', async () => {
    adapter.credential = async () => bearer(adapter.provider.url, 'secret-1', 'v1');
    refuseAll(401);
    expect(await problemOf()).toBe(AccountProblem.UNSPECIFIED);
    expect(adapter.provider.calls).toHaveLength(1);
  });
});

describe('an account without a usable secret', () => {
  it('is reported as refused, so that another account is tried', async () => {
    adapter.credential = async () => {
      throw new GatewayError('not_found', 'no such account');
    };
    expect(await framesOf()).toEqual([{ result: 'UNAUTHORIZED', error: 'providers_unavailable' }]);
  });

  it('is no fault of the account when the broker can’t be asked', async () => {
    adapter.credential = async () => {
      throw new RpcError('unavailable', 'down');
    };
    await expect(framesOf()).rejects.toMatchObject({ code: 'providers_unavailable' });
  });
});

describe('attempts', () => {
  it('are counted by how they ended', async () => {
    adapter.provider.answer = (response) => eventStream(response).end(event.done);
    await framesOf();
    adapter.provider.answer = (response) => response.writeHead(429).end();
    await framesOf();
    const text = await adapter.metrics.exposition();
    expect(text).toContain('gateway_upstream_attempts_total{format="messages",result="succeeded"} 1');
    expect(text).toContain('gateway_upstream_attempts_total{format="messages",result="rate_limited"} 1');
    expect(text).toContain('gateway_upstream_first_byte_seconds_count{format="messages"} 2');
  });
});

/** Time for written bytes to be read, and for a connection to return to its pool. */
const settled = () => new Promise((resolve) => setTimeout(resolve, 30));

async function openStreams(): Promise<number> {
  const text = await adapter.metrics.exposition();
  return Number(/gateway_upstream_open_streams\{.*\} (\d+)/.exec(text)?.[1]);
}
