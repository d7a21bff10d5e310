import { create } from '@bufbuild/protobuf';
import { GatewayError } from '@gateway/errors';
import {
  CredentialService,
  type GetCredentialRequest,
  GetCredentialResponseSchema,
} from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { directClient, serviceRoute } from '@gateway/rpc';
import { ManualTime } from '@gateway/time/simulated';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { CredentialCache } from './credential-cache.ts';

let time: ManualTime;
let asked: string[];
let refused: string[];
let versions: boolean;
let failing: boolean;
/** The next secret and its version; a new one for each request unless set. */
let given: number | undefined;
let beforeAnswer: () => Promise<void>;
let cache: CredentialCache;

beforeEach(() => {
  time = new ManualTime(1_000);
  asked = [];
  refused = [];
  versions = false;
  failing = false;
  given = undefined;
  beforeAnswer = async () => undefined;
  const getCredential = async ({ target, refusedVersion }: GetCredentialRequest) => {
    asked.push(target.value ?? '');
    refused.push(refusedVersion);
    if (failing) throw new GatewayError('not_found', 'no such account');
    const number = given ?? asked.length;
    await beforeAnswer();
    return create(GetCredentialResponseSchema, {
      accountId: target.value ?? '',
      baseUrl: 'https://provider.test:8443/v1',
      secret: { case: 'bearer', value: `secret-${number}` },
      cacheableForMs: 500,
      version: versions ? `v${number}` : '',
    });
  };
  cache = new CredentialCache(directClient(serviceRoute(CredentialService, { getCredential })));
});

afterEach(() => time[Symbol.dispose]());

describe('CredentialCache', () => {
  it('says where the account is reached and with which header', async () => {
    expect(await cache.ofAccount('p/a')).toMatchObject({
      origin: 'https://provider.test:8443',
      host: 'provider.test',
      port: 8443,
      basePath: '/v1',
      secretHeader: { authorization: 'Bearer secret-1' },
    });
  });

  it('asks again only when the answer may not be cached any more', async () => {
    await cache.ofAccount('p/a');
    time.advanceMs(499);
    await cache.ofAccount('p/a');
    expect(asked).toEqual(['p/a']);
    time.advanceMs(1);
    await cache.ofAccount('p/a');
    expect(asked).toEqual(['p/a', 'p/a']);
  });

  it('asks at once for the credential that the account has now, and caches it', async () => {
    await cache.ofAccount('p/a');
    const secretHeader = { authorization: 'Bearer secret-2' };
    expect(await cache.ofAccountNow('p/a')).toMatchObject({ secretHeader });
    expect(await cache.ofAccount('p/a')).toMatchObject({ secretHeader });
    expect(asked).toEqual(['p/a', 'p/a']);
  });

  it('asks once for calls at the same time, once per account', async () => {
    await Promise.all([cache.ofAccount('p/a'), cache.ofAccount('p/a'), cache.ofAccount('p/b')]);
    expect(asked).toEqual(['p/a', 'p/b']);
  });

  it('keeps an answer that comes too late for its call, and asks no second time meanwhile', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const answer = Promise.withResolvers<void>();
    beforeAnswer = () => answer.promise;
    const early = [cache.ofAccount('p/a'), cache.ofAccount('p/a')].map((call) =>
      expect(call).rejects.toMatchObject({ status: 'deadline_exceeded' }),
    );
    await vi.advanceTimersByTimeAsync(6_000);
    await Promise.all(early);
    const later = cache.ofAccount('p/a');
    answer.resolve();
    expect(await later).toMatchObject({ secretHeader: { authorization: 'Bearer secret-1' } });
    expect(await cache.ofAccount('p/a')).toBe(await later);
    expect(asked).toEqual(['p/a']);
  });

  it('forgets a secret that was refused, but not the one that replaced it', async () => {
    const refused = await cache.ofAccount('p/a');
    cache.drop(refused);
    const fresh = await cache.ofAccount('p/a');
    cache.drop(refused);
    expect(await cache.ofAccount('p/a')).toBe(fresh);
    expect(asked).toHaveLength(2);
  });

  it('says which version was refused, until another one is there', async () => {
    versions = true;
    cache.drop(await cache.ofAccount('p/a'));
    failing = true;
    await expect(cache.ofAccount('p/a')).rejects.toMatchObject({ code: 'not_found' });
    failing = false;
    await cache.ofAccount('p/a');
    time.advanceMs(500);
    await cache.ofAccount('p/a');
    await cache.ofAccount('p/b');
    expect(refused).toEqual(['', 'v1', 'v1', '', '']);
  });

  it('names no version when there is only one secret, or when a newer one is there already', async () => {
    cache.drop(await cache.ofAccount('p/a'));
    await cache.ofAccount('p/a');
    expect(refused).toEqual(['', '']);
    versions = true;
    time.advanceMs(500);
    const old = await cache.ofAccount('p/a');
    time.advanceMs(500);
    await cache.ofAccount('p/a');
    cache.drop(old);
    time.advanceMs(500);
    await cache.ofAccount('p/a');
    expect(refused).toEqual(['', '', '', '', '']);
  });

  it('names a version that was asked for again before it was refused', async () => {
    versions = true;
    given = 1;
    const sent = await cache.ofAccount('p/a');
    time.advanceMs(500);
    await cache.ofAccount('p/a');
    cache.drop(sent);
    given = 2;
    expect((await cache.ofAccount('p/a')).version).toBe('v2');
    expect(refused).toEqual(['', '', 'v1']);
  });

  it('asks once more when a version is refused that is just being asked for', async () => {
    versions = true;
    given = 1;
    const sent = await cache.ofAccount('p/a');
    time.advanceMs(500);
    beforeAnswer = async () => {
      beforeAnswer = async () => undefined;
      time.advanceMs(500);
      cache.drop(sent);
      given = 2;
    };
    expect((await cache.ofAccount('p/a')).version).toBe('v2');
    expect(refused).toEqual(['', '', 'v1']);
  });

  it('does not keep a failure', async () => {
    failing = true;
    await expect(cache.ofAccount('p/a')).rejects.toMatchObject({ code: 'not_found' });
    failing = false;
    expect(await cache.ofAccount('p/a')).toMatchObject({ accountId: 'p/a' });
  });

  it('asks for an account of a pool each time', async () => {
    await cache.ofPool('p');
    await cache.ofPool('p');
    expect(asked).toEqual(['p', 'p']);
  });
});
