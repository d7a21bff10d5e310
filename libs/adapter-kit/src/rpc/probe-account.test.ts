import { GatewayError } from '@gateway/errors';
import { RpcError } from '@gateway/rpc';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type AdapterUnderTest, bearer, startAdapter } from '../__fixtures__/adapter-under-test.ts';
import type { FakeProvider } from '../__fixtures__/fake-provider.ts';

let adapter: AdapterUnderTest;
beforeEach(async () => {
  adapter = await startAdapter();
});
afterEach(() => adapter[Symbol.asyncDispose]());

async function probe() {
  const { upstreamStatus, modelCount, cause, durationMs } = await adapter.client.probeAccount({ accountId: 'pool/a' });
  expect(durationMs).toBeGreaterThan(0);
  return { upstreamStatus, modelCount, cause };
}

const failed = { upstreamStatus: 0, modelCount: 0 };

describe('a probe of an account', () => {
  it("counts the models that the provider lists for the account's own credential", async () => {
    adapter.provider.answer = (response) => response.end('["m1","m2"]');
    expect(await probe()).toEqual({ upstreamStatus: 200, modelCount: 2, cause: '' });
    expect(adapter.asked).toEqual([{ case: 'accountId', value: 'pool/a' }]);
    expect(adapter.provider.calls).toMatchObject([{ method: 'GET', url: '/base/models?limit=9', body: '' }]);
    expect(adapter.provider.calls[0]?.headers).toMatchObject({ authorization: 'Bearer secret-1' });
  });

  it('uses the credential that the account has now, and requests use it from then on', async () => {
    adapter.provider.answer = (response, { headers }) =>
      headers.authorization === 'Bearer secret-2' ? response.end('["m1"]') : response.writeHead(401).end();
    await adapter.context.credentials.ofAccount('pool/a');
    expect(await probe()).toEqual({ ...failed, upstreamStatus: 401, cause: '401 from the provider' });
    adapter.credential = async () => bearer(`${adapter.provider.url}/base`, 'secret-2');
    expect(await probe()).toMatchObject({ upstreamStatus: 200 });
    expect(await adapter.context.credentials.ofAccount('pool/a')).toMatchObject({
      secretHeader: { authorization: 'Bearer secret-2' },
    });
    expect(adapter.asked).toHaveLength(3);
  });

  it.each<[string, FakeProvider['answer'], object]>([
    [
      'a status other than 200',
      (response) => response.writeHead(503).end('a text of the provider'),
      { upstreamStatus: 503, cause: '503 from the provider' },
    ],
    [
      'a page',
      (response) => response.end('<html>'),
      { upstreamStatus: 200, cause: "the provider's model list is not valid" },
    ],
    [
      'a reset connection',
      (response) => response.socket?.resetAndDestroy(),
      { upstreamStatus: 0, cause: expect.stringMatching(/^the connection (was reset|closed before the answer)$/) },
    ],
  ])('says what came: %s', async (_what, answer, expected) => {
    adapter.provider.answer = answer;
    expect(await probe()).toEqual({ ...failed, ...expected });
  });

  it('names the address that refuses the connection, and the host that has none', async () => {
    await adapter.provider[Symbol.asyncDispose]();
    const { host } = new URL(adapter.provider.url);
    expect(await probe()).toEqual({ ...failed, cause: `connection refused by ${host}` });
    adapter.credential = async () => bearer('http://nowhere.invalid', 'secret-1');
    expect((await probe()).cause).toMatch(/DNS.*nowhere\.invalid|nowhere\.invalid.*DNS/);
  });

  describe('of a provider that does not answer', () => {
    beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
    afterEach(() => vi.useRealTimers());

    it('ends after ten seconds', async () => {
      adapter.provider.answer = () => undefined;
      const probing = probe();
      await expect.poll(() => adapter.provider.calls.length).toBe(1);
      await vi.advanceTimersByTimeAsync(10_000);
      expect(await probing).toEqual({ ...failed, cause: 'no answer in 10 s' });
    });
  });

  it('fails when the account has no usable credential, and asks no provider', async () => {
    adapter.credential = async () => {
      throw new GatewayError('providers_unavailable', 'The account has no usable credential.');
    };
    await expect(probe()).rejects.toMatchObject({ message: 'The account has no usable credential.' });
    adapter.credential = async () => {
      throw new RpcError('unavailable', 'Connection refused.');
    };
    await expect(probe()).rejects.toMatchObject({
      code: 'providers_unavailable',
      message: 'The pool-broker does not answer: connection refused',
    });
    expect(adapter.provider.calls).toEqual([]);
  });
});
