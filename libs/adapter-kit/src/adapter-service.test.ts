import { ConfigError } from '@gateway/config';
import { createLogger, Metrics } from '@gateway/telemetry';
import { describe, expect, it } from 'vitest';
import { fakeFormat } from './__fixtures__/fake-format.ts';
import { readAdapterConfig } from './adapter-config.ts';
import { adapterFactory, adapterRoutes, createAdapterFromEnvironment } from './adapter-service.ts';

const runtime = { logger: createLogger('test', 'silent'), metrics: new Metrics() };

const fromEnvironment = createAdapterFromEnvironment(adapterFactory(fakeFormat, adapterRoutes));

describe('an adapter of its own process', () => {
  it('serves the adapter contract, but is not ready before it has reached the broker', async () => {
    await using service = await fromEnvironment(
      { POOL_BROKER_URL: 'http://127.0.0.1:9', CREDENTIAL_URL: 'http://127.0.0.1:9' },
      runtime,
    );
    await service.start();
    expect(service.routes.map((route) => route.service.typeName)).toEqual(['gateway.adapter.v1.AdapterService']);
    expect(await service.notReady()).toContain('pool-broker');
  });

  it('refuses to start without its peer, and reports all problems at once', async () => {
    const started = fromEnvironment({ UPSTREAM_IDLE_TIMEOUT_SECONDS: 'soon' }, runtime);
    const problems = await started.then(
      () => [],
      (thrown: unknown) => (thrown instanceof ConfigError ? thrown.problems : [thrown]),
    );
    expect(problems).toMatchObject([
      expect.stringContaining('POOL_BROKER_URL is not set'),
      expect.stringContaining('CREDENTIAL_URL is not set'),
      expect.stringContaining('UPSTREAM_IDLE_TIMEOUT_SECONDS'),
    ]);
  });
});

describe('the settings of an adapter', () => {
  it('have defaults', () => {
    expect(readAdapterConfig({})).toEqual({
      connectTimeoutMs: 10_000,
      firstByteTimeoutMs: 600_000,
      idleTimeoutMs: 180_000,
      maxStreamMs: 3_605_000,
      maxPreambleBytes: 262_144,
      maxEventBytes: 33_554_432,
      maxAnswerBytes: 33_554_432,
      http2: false,
      sendsTraceparent: false,
      proxies: { httpsProxy: '', httpProxy: '', noProxy: ',localhost,127.0.0.1,::1' },
      translationWorkers: 2,
      translationWorkerMinBytes: 262_144,
      translationMaxBytes: 268_435_456,
    });
  });

  it('come from the environment', () => {
    expect(readAdapterConfig({ UPSTREAM_PREAMBLE_MAX_KIB: '2', UPSTREAM_IDLE_TIMEOUT_SECONDS: '5' })).toMatchObject({
      maxPreambleBytes: 2_048,
      idleTimeoutMs: 5_000,
    });
  });

  it('take proxies in upper or lower case, as URLs', () => {
    const env = {
      HTTPS_PROXY: 'http://a:1',
      https_proxy: 'http://b:2',
      HTTP_PROXY: 'http://c:3/',
      no_proxy: '.example.com',
    };
    expect(readAdapterConfig(env).proxies).toEqual({
      httpsProxy: 'http://b:2',
      httpProxy: 'http://c:3',
      noProxy: '.example.com,localhost,127.0.0.1,::1',
    });
    expect(() => readAdapterConfig({ HTTPS_PROXY: 'user:secret@proxy:3128' })).toThrow(/^(?!.*secret).*HTTPS_PROXY/s);
  });
});
