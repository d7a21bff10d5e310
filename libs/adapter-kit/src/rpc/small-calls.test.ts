import { afterEach, describe, expect, it } from 'vitest';
import { type AdapterUnderTest, startAdapter, streamOf } from '../__fixtures__/adapter-under-test.ts';
import { fakeFormat } from '../__fixtures__/fake-format.ts';
import type { ProviderFormat } from '../provider-format.ts';

let adapter: AdapterUnderTest;
afterEach(() => adapter[Symbol.asyncDispose]());

const countingFormat: ProviderFormat = {
  ...fakeFormat,
  countTokens: {
    prepare: ({ body }) => ({ path: '/count', headers: {}, body }),
    readCount: (body) => {
      const count = Number(body);
      if (!Number.isInteger(count)) throw new Error('no count');
      return count;
    },
  },
};

const count = () =>
  adapter.client.countTokens(streamOf([{ head: { lease: { accountId: 'pool/a' } } }, { body: Buffer.from('{}') }]));

describe('countTokens', () => {
  it('gives the provider’s own count', async () => {
    adapter = await startAdapter({}, countingFormat);
    adapter.provider.answer = (response) => response.end('17');
    expect((await count()).inputTokens).toBe(17n);
    expect(adapter.provider.calls[0]).toMatchObject({ method: 'POST', url: '/base/count', body: '{}' });
  });

  it('is refused by a format that has none', async () => {
    adapter = await startAdapter();
    await expect(count()).rejects.toMatchObject({ code: 'model_not_found' });
  });

  it('fails in the words of the format, or in generic ones', async () => {
    adapter = await startAdapter({}, countingFormat);
    adapter.provider.answer = (response) => response.writeHead(429).end('{}');
    await expect(count()).rejects.toMatchObject({ code: 'pool_exhausted' });
    for (const body of ['<html>', '{"a":1}']) {
      adapter.provider.answer = (response) => response.end(body);
      await expect(count()).rejects.toMatchObject({ code: 'providers_unavailable' });
    }
    adapter.provider.answer = (response) => response.socket?.resetAndDestroy();
    await expect(count()).rejects.toMatchObject({ code: 'providers_unavailable' });
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
