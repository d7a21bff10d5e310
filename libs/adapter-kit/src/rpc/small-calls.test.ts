import { gzipSync } from 'node:zlib';
import { GatewayError } from '@gateway/errors';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import type { CallOptions } from '@gateway/rpc';
import { afterEach, describe, expect, it } from 'vitest';
import { type AdapterUnderTest, bearer, startAdapter, streamOf } from '../__fixtures__/adapter-under-test.ts';
import { fakeFormat } from '../__fixtures__/fake-format.ts';
import type { FormatDefinition } from '../format-definition.ts';

let adapter: AdapterUnderTest;
afterEach(() => adapter[Symbol.asyncDispose]());

const countingFormat: FormatDefinition = {
  ...fakeFormat,
  countTokens: {
    prepare: ({ body }) => ({ path: '/count', headers: {}, body: body.chunks }),
    readCount: (body) => {
      const count = Number(body);
      if (!Number.isInteger(count)) throw new Error('no count');
      return count;
    },
  },
};

const refusingFormat: FormatDefinition = {
  ...countingFormat,
  countTokens: {
    prepare: () => {
      throw new GatewayError('invalid_request', 'messages: must not be empty');
    },
    readCount: () => 0,
  },
};

async function count(options?: CallOptions) {
  const frames = [{ head: { lease: { accountId: 'pool/a' } } }, { body: Buffer.from('{}') }];
  const { inputTokens, result: ended } = await adapter.client.countTokens(streamOf(frames), options);
  const { result = AttemptResult.UNSPECIFIED, upstreamStatus } = ended?.attempt ?? {};
  return { inputTokens, result: AttemptResult[result], upstreamStatus, error: ended?.error?.code };
}

describe('countTokens', () => {
  it('gives the provider’s own count', async () => {
    adapter = await startAdapter({}, countingFormat);
    adapter.provider.answer = (response) => response.end('17');
    expect(await count()).toEqual({
      inputTokens: 17,
      result: 'SUCCEEDED',
      upstreamStatus: 200,
      error: undefined,
    });
    const [call] = adapter.provider.calls;
    expect(call).toMatchObject({ method: 'POST', url: '/base/count', body: '{}' });
    expect(call?.headers).toMatchObject({ accept: 'application/json', 'x-format-version': '7' });
  });

  it('is read when it comes encoded', async () => {
    adapter = await startAdapter({}, countingFormat);
    adapter.provider.answer = (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('17'));
    expect(await count()).toMatchObject({ inputTokens: 17, result: 'SUCCEEDED' });
  });

  it('is refused by a format that has none', async () => {
    adapter = await startAdapter();
    await expect(count()).rejects.toMatchObject({ code: 'model_not_found' });
  });

  it('is refused when the request can’t be prepared, before anything is sent', async () => {
    adapter = await startAdapter({}, refusingFormat);
    await expect(count()).rejects.toMatchObject({ code: 'invalid_request' });
    expect(adapter.provider.calls).toEqual([]);
  });

  it('reports how it failed, so that another account can be tried', async () => {
    adapter = await startAdapter({}, countingFormat);
    adapter.provider.answer = (response) => response.writeHead(429).end('{}');
    const failed = { inputTokens: 0, error: 'providers_unavailable', upstreamStatus: 0 };
    expect(await count()).toEqual({ ...failed, result: 'RATE_LIMITED', error: 'pool_exhausted', upstreamStatus: 429 });
    for (const body of ['<html>', '{"a":1}', ` ${'1'.repeat(70_000)}`]) {
      adapter.provider.answer = (response) => response.end(body);
      expect(await count()).toEqual({ ...failed, result: 'SERVER_ERROR' });
    }
    adapter.provider.answer = (response) => response.socket?.resetAndDestroy();
    expect(await count()).toEqual({ ...failed, result: 'NETWORK_ERROR' });
    adapter.provider.answer = (response) => response.writeHead(200, { 'content-length': '9' }).write('1');
    const cut = count();
    await expect.poll(() => adapter.provider.calls.length).toBe(6);
    setTimeout(() => adapter.provider.cutAll(), 50);
    expect(await cut).toEqual({ ...failed, result: 'NETWORK_ERROR' });
    expect(await adapter.metrics.exposition()).toContain('{format="messages",result="network_error"} 2');
  });

  it('asks for a refused account’s secret anew, once', async () => {
    adapter = await startAdapter({}, countingFormat);
    adapter.provider.answer = (response, { headers }) =>
      headers.authorization === 'Bearer secret-2' ? response.end('17') : response.writeHead(401).end('{}');
    expect(await count()).toMatchObject({ result: 'SERVER_ERROR', upstreamStatus: 401 });
    await adapter.context.credentials.ofAccount('pool/a');
    adapter.credential = async () => bearer(`${adapter.provider.url}/base`, 'secret-2');
    expect(await count()).toMatchObject({ result: 'SUCCEEDED', inputTokens: 17 });
  });

  it('cuts the provider off when the caller leaves', async () => {
    adapter = await startAdapter({}, countingFormat);
    adapter.provider.answer = () => undefined;
    const leave = new AbortController();
    const counting = count({ signal: leave.signal });
    await expect.poll(() => adapter.provider.calls.length).toBe(1);
    leave.abort();
    await expect(counting).rejects.toMatchObject({ status: 'cancelled' });
    await expect.poll(() => adapter.provider.calls[0]?.cutOff()).toBe(true);
  });
});

describe('listModels', () => {
  it('gives what the provider lists, asked with any account of the pool', async () => {
    adapter = await startAdapter();
    adapter.provider.answer = (response) => response.end('["m1"]');
    const { models } = await adapter.client.listModels({ pool: 'pool' });
    expect(models.map(({ id }) => id)).toEqual(['m1']);
    expect(adapter.asked).toMatchObject([{ case: 'pool', value: 'pool' }]);
  });

  it('fails when the list can’t be read', async () => {
    adapter = await startAdapter();
    adapter.provider.answer = (response) => response.writeHead(503).end();
    await expect(adapter.client.listModels({ pool: 'pool' })).rejects.toMatchObject({ code: 'providers_unavailable' });
  });
});

describe('a request without a lease', () => {
  it('is refused', async () => {
    adapter = await startAdapter();
    const frames = adapter.client.execute(streamOf([{ body: Buffer.from('{}') }]));
    await expect(Array.fromAsync(frames)).rejects.toMatchObject({ code: 'invalid_request' });
  });
});
