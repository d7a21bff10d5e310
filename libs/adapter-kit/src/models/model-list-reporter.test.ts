import { create } from '@bufbuild/protobuf';
import { GatewayError } from '@gateway/errors';
import {
  CredentialService,
  type GetCredentialResponse,
  ListPoolsResponseSchema,
  PoolBrokerService,
  PoolSchema,
  type ReportModelsRequest,
} from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { type Client, directClient, type Handlers, RpcError, serviceRoute } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { bearer } from '../__fixtures__/adapter-under-test.ts';
import { fakeFormat } from '../__fixtures__/fake-format.ts';
import { type FakeProvider, startFakeProvider } from '../__fixtures__/fake-provider.ts';
import { readAdapterConfig } from '../adapter-config.ts';
import { type AdapterContext, createAdapterContext } from '../adapter-context.ts';
import { ModelListReporter, Schedule } from './model-list-reporter.ts';

let provider: FakeProvider;
let context: AdapterContext;
let pools: string[];
let brokerIsAway: boolean;
let refreshSeconds: number;
let reports: string[];
const logger = createLogger('test', 'silent');
const warned = vi.spyOn(logger, 'warn');

beforeEach(async () => {
  provider = await startFakeProvider();
  provider.answer = (response) => response.end('["m1","m2"]');
  pools = ['a'];
  brokerIsAway = false;
  refreshSeconds = 0.02;
  reports = [];
  warned.mockClear();
  context = createAdapterContext({
    format: fakeFormat,
    config: readAdapterConfig({}),
    credentials: directClient(
      serviceRoute(CredentialService, {
        // Each pool's provider has its own path.
        getCredential: async ({ target }): Promise<GetCredentialResponse> => {
          if (target.value === 'empty') throw new GatewayError('not_found', 'The pool has no usable account.');
          return bearer(`${provider.url}/${target.value}`, 'secret');
        },
      }),
    ),
    runtime: { logger, metrics: new Metrics() },
  });
});

afterEach(async () => {
  await context[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
});

const startReporter = () => {
  const reporter = new ModelListReporter(context, fakeBroker());
  reporter.start();
  return reporter;
};

describe('the model list reporter', () => {
  it('reports at once, and again on the timer', async () => {
    await using _ = startReporter();
    await expect.poll(() => reports.length).toBeGreaterThanOrEqual(3);
    expect(reports[0]).toBe('a: m1 m2');
    expect(provider.calls[0]).toMatchObject({ method: 'GET', url: '/a/models?limit=9', body: '' });
    expect(provider.calls[0]?.headers).toMatchObject({ authorization: 'Bearer secret', 'x-format-version': '7' });
  });

  describe('with a broker that is asked more often than lists are due', () => {
    beforeEach(() => vi.useFakeTimers({ toFake: ['performance'] }));
    afterEach(() => vi.useRealTimers());

    it('reads them no more often than the broker says, a new pool at once, and all when that changes', () => {
      const schedule = new Schedule();
      const dueAfter = (seconds: number, names: readonly string[], modelListRefreshSeconds: number) => {
        vi.advanceTimersByTime(seconds * 1_000);
        const reported = { modelsReportedAtMs: 1 };
        const listed = names.map((name) => create(PoolSchema, { name, ...reported }));
        return schedule.duePools(create(ListPoolsResponseSchema, { pools: listed, modelListRefreshSeconds }));
      };
      expect(dueAfter(0, ['a'], 60)).toEqual(['a']);
      expect(schedule.pauseMs).toBe(5_000);
      expect(dueAfter(30, ['a'], 60)).toEqual([]);
      expect(dueAfter(5, ['a', 'b'], 60)).toEqual(['b']);
      expect(dueAfter(25, ['a', 'b'], 60)).toEqual(['a']);
      expect(dueAfter(20, ['a', 'b'], 3_600)).toEqual([]);
      expect(dueAfter(500, ['a', 'b'], 3_600)).toEqual([]);
      expect(dueAfter(5, ['a', 'b'], 1)).toEqual(['a', 'b']);
      expect(schedule.pauseMs).toBe(1_000);
      expect(dueAfter(1, ['a', 'b'], 1)).toEqual(['a', 'b']);
      expect(dueAfter(5, ['a', 'b'], 0)).toEqual([]);
      expect(dueAfter(60, ['a', 'b'], 0)).toEqual(['a', 'b']);
      schedule.startAnew();
      expect(dueAfter(0, ['a', 'b'], 0)).toEqual(['a', 'b']);
      const lost = create(ListPoolsResponseSchema, { pools: [{ name: 'a' }] });
      expect(schedule.duePools(lost)).toEqual(['a']);
    });

    it('reads a list again after ten seconds that could not be read', () => {
      const schedule = new Schedule();
      const dueAfter = (seconds: number, modelListRefreshSeconds: number) => {
        vi.advanceTimersByTime(seconds * 1_000);
        const reported = { modelsReportedAtMs: 1 };
        const pools = [
          { name: 'read', ...reported },
          { name: 'failed', ...reported, modelListFailure: '401 from the provider' },
        ];
        return schedule.duePools(create(ListPoolsResponseSchema, { pools, modelListRefreshSeconds }));
      };
      expect(dueAfter(0, 60)).toEqual(['read', 'failed']);
      expect(dueAfter(5, 60)).toEqual([]);
      expect(dueAfter(5, 60)).toEqual(['failed']);
      expect(dueAfter(1, 1)).toEqual(['read', 'failed']);
    });
  });

  it.each([
    ['an error status', 500, '["m1"]'],
    ['a page', 200, '<html>'],
    ['something else than a list', 200, '{}'],
  ])('says that a pool can’t be reached on %s', async (_what, status, body) => {
    provider.answer = (response) => response.writeHead(status).end(body);
    await using _ = startReporter();
    await expect.poll(() => reports).toContainEqual(expect.stringMatching(/^a: unreachable, ./));
  });

  it('does not let a pool that hangs delay the others', async () => {
    pools = ['hanging', 'b'];
    provider.answer = (response, { url }) => (url?.startsWith('/b/') ? response.end('["m3"]') : undefined);
    await using _ = startReporter();
    await expect.poll(() => reports).toContain('b: m3');
  });

  it('logs a problem once, however long it lasts', async () => {
    provider.answer = (response) => response.writeHead(500).end();
    await using _ = startReporter();
    await expect.poll(() => reports.length).toBeGreaterThanOrEqual(3);
    expect(warned).toHaveBeenCalledTimes(1);
    expect(warned.mock.calls[0]?.[0]).toEqual({ subject: 'pool a', reason: '500 from the provider' });
    expect(reports[0]).toBe('a: unreachable, 500 from the provider');
  });

  it('does not warn of a pool without an account, which may not be used', async () => {
    pools = ['empty', 'a'];
    const noted = vi.spyOn(logger, 'info');
    await using _ = startReporter();
    await expect.poll(() => reports).toContain('empty: unreachable, the pool has no usable account');
    expect(noted.mock.calls.map(([facts]) => facts)).toEqual([
      { subject: 'pool empty', reason: 'the pool has no usable account' },
    ]);
    expect(warned).not.toHaveBeenCalled();
  });

  it('logs why a provider does not answer', async () => {
    await provider[Symbol.asyncDispose]();
    await using _ = startReporter();
    await expect.poll(() => warned.mock.calls.length).toBe(1);
    expect(warned.mock.calls[0]?.[0]).toMatchObject({
      reason: expect.stringMatching(/^connection refused by .*:\d+$/),
    });
  });

  it('asks again soon when the broker is away', async () => {
    brokerIsAway = true;
    await using reporter = startReporter();
    await expect.poll(() => warned.mock.calls.length).toBe(1);
    expect(reporter.hasReachedBroker).toBe(false);
    brokerIsAway = false;
    await expect.poll(() => reports).toContain('a: m1 m2');
    expect(reporter.hasReachedBroker).toBe(true);
  });

  it('stops when it is disposed of, even in the middle of a round', async () => {
    provider.answer = () => undefined;
    const reporter = startReporter();
    await expect.poll(() => provider.calls.length).toBe(1);
    await reporter[Symbol.asyncDispose]();
    await expect.poll(() => provider.calls[0]?.cutOff()).toBe(true);
    expect(reports).toEqual([]);
  });
});

function fakeBroker(): Client<typeof PoolBrokerService> {
  const unused = () => {
    throw new Error('not for adapters');
  };
  const handlers: Handlers<typeof PoolBrokerService> = {
    acquire: unused,
    report: unused,
    listModels: unused,
    watchCatalog: unused,
    listAccounts: unused,
    explain: unused,
    renewLeases: unused,
    listPools: ({ format }) => {
      if (brokerIsAway) throw new RpcError('unavailable', 'away');
      const named = format === fakeFormat.id ? pools.map((name) => ({ name, format, modelsReportedAtMs: 1 })) : [];
      return { pools: named, modelListRefreshSeconds: refreshSeconds };
    },
    reportModels: (request) => {
      reports.push(readableReport(request));
      return {};
    },
  };
  return directClient(serviceRoute(PoolBrokerService, handlers));
}

function readableReport({ pool, reachable, models, cause }: ReportModelsRequest): string {
  return `${pool}: ${reachable ? models.map(({ id }) => id).join(' ') : `unreachable, ${cause}`}`;
}
