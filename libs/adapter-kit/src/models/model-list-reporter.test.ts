import {
  CredentialService,
  type GetCredentialResponse,
  PoolBrokerService,
  type ReportModelsRequest,
} from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { type Client, directClient, type Handlers, RpcError, serviceRoute } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { ManualClock } from '@gateway/time';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { bearer } from '../__fixtures__/adapter-under-test.ts';
import { fakeFormat } from '../__fixtures__/fake-format.ts';
import { type FakeProvider, startFakeProvider } from '../__fixtures__/fake-provider.ts';
import { readAdapterConfig } from '../adapter-config.ts';
import { type AdapterContext, createAdapterContext } from '../adapter-context.ts';
import { createModelListReporter } from './model-list-reporter.ts';

let provider: FakeProvider;
let context: AdapterContext;
let pools: string[];
let brokerIsAway: boolean;
let reports: string[];
const logger = createLogger('test', 'silent');
const warned = vi.spyOn(logger, 'warn');

beforeEach(async () => {
  provider = await startFakeProvider();
  provider.answer = (response) => response.end('["m1","m2"]');
  pools = ['a'];
  brokerIsAway = false;
  reports = [];
  warned.mockClear();
  context = createAdapterContext({
    format: fakeFormat,
    config: { ...readAdapterConfig({}), modelListRefreshMs: 20 },
    credentials: directClient(
      serviceRoute(CredentialService, {
        // Each pool's provider is reached under a path of its own.
        getCredential: async ({ target }): Promise<GetCredentialResponse> =>
          bearer(`${provider.url}/${target.value}`, 'secret'),
      }),
    ),
    runtime: { logger, metrics: new Metrics() },
    clock: new ManualClock(0),
  });
});

afterEach(async () => {
  await context[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
});

const startReporter = () => {
  const reporter = createModelListReporter({ context, broker: fakeBroker() });
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

  it.each([
    ['an error status', 500, '["m1"]'],
    ['a page', 200, '<html>'],
    ['something else than a list', 200, '{}'],
  ])('says that a pool can’t be reached on %s', async (_what, status, body) => {
    provider.answer = (response) => response.writeHead(status).end(body);
    await using _ = startReporter();
    await expect.poll(() => reports).toContain('a: unreachable');
  });

  it('does not let a pool that hangs hold up the others', async () => {
    pools = ['hanging', 'b'];
    provider.answer = (response, { url }) => (url?.startsWith('/b/') ? response.end('["m3"]') : undefined);
    await using _ = startReporter();
    await expect.poll(() => reports).toContain('b: m3');
  });

  it('logs a trouble once, however long it lasts', async () => {
    provider.answer = (response) => response.writeHead(500).end();
    await using _ = startReporter();
    await expect.poll(() => reports.length).toBeGreaterThanOrEqual(3);
    expect(warned).toHaveBeenCalledTimes(1);
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
    enableAccount: unused,
    renewLeases: unused,
    listPools: ({ format }) => {
      if (brokerIsAway) throw new RpcError('unavailable', 'away');
      return { pools: format === fakeFormat.id ? pools.map((name) => ({ name, format })) : [] };
    },
    reportModels: (request) => {
      reports.push(readableReport(request));
      return {};
    },
  };
  return directClient(serviceRoute(PoolBrokerService, handlers));
}

function readableReport({ pool, reachable, models }: ReportModelsRequest): string {
  return `${pool}: ${reachable ? models.map(({ id }) => id).join(' ') : 'unreachable'}`;
}
