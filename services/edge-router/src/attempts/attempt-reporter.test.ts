import { create } from '@bufbuild/protobuf';
import { AttemptSchema } from '@gateway/proto/pool/v1/account_pb.js';
import { PoolBrokerService, type ReportRequest } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { directClient, RpcError, serviceRoute } from '@gateway/rpc';
import { describe, expect, it } from 'vitest';
import { type AttemptReport, Leases, type LeasesOptions } from './leases.ts';

function setUp(options: Partial<LeasesOptions> = {}) {
  const tried: string[] = [];
  const taken: string[] = [];
  const givenUp: string[] = [];
  const state = { away: false };
  const refuse = () => {
    throw new Error('not expected here');
  };
  const report = ({ requestId }: ReportRequest) => {
    tried.push(requestId);
    if (state.away) throw new RpcError('unavailable', 'away');
    taken.push(requestId);
    return {};
  };
  const broker = directClient(
    serviceRoute(PoolBrokerService, {
      acquire: refuse,
      report,
      listModels: refuse,
      watchCatalog: refuse,
      listPools: refuse,
      reportModels: refuse,
      listAccounts: refuse,
      explain: refuse,
      enableAccount: refuse,
      renewLeases: refuse,
    }),
  );
  const onGivenUp = (_fault: unknown, requestId: string) => givenUp.push(requestId);
  const reporter = new Leases({
    broker,
    timeoutMs: 1_000,
    onGivenUp,
    onRenewalFault: refuse,
    pausesMs: [5, 5],
    ...options,
  });
  return { reporter, tried, taken, givenUp, state };
}

function endOf(requestId: string): AttemptReport {
  return { requestId, affinityKey: '', attempt: create(AttemptSchema) };
}

const forever = 1_000_000;

describe('the report of how an attempt ended', () => {
  it('has informed the broker when it resolves', async () => {
    const { reporter, taken } = setUp();
    await reporter.report(endOf('r1'));
    expect(taken).toEqual(['r1']);
    await reporter[Symbol.asyncDispose]();
  });

  it('does not delay the request while the broker is away, and reports when it is back', async () => {
    const { reporter, tried, taken, givenUp, state } = setUp({ pausesMs: [5, 5, 5, 5, 5, 5, 5, 5, 5, 5] });
    state.away = true;
    await reporter.report(endOf('r1'));
    expect(tried).toEqual(['r1']);
    await expect.poll(() => tried.length, { interval: 1 }).toBeGreaterThan(1);
    state.away = false;
    await expect.poll(() => taken).toEqual(['r1']);
    await reporter[Symbol.asyncDispose]();
    expect(givenUp).toEqual([]);
  });

  it('gives up after its last try, and says so once', async () => {
    const { reporter, tried, givenUp, state } = setUp();
    state.away = true;
    await reporter.report(endOf('r1'));
    await expect.poll(() => givenUp).toEqual(['r1']);
    expect(tried).toEqual(['r1', 'r1', 'r1']);
    await reporter[Symbol.asyncDispose]();
    expect(givenUp).toEqual(['r1']);
  });

  it('keeps no more than so many waiting', async () => {
    const { reporter, givenUp, state } = setUp({ maxWaiting: 2, pausesMs: [forever] });
    state.away = true;
    for (const requestId of ['r1', 'r2', 'r3']) await reporter.report(endOf(requestId));
    expect(givenUp).toEqual(['r3']);
    await reporter[Symbol.asyncDispose]();
  });

  it('waits for nothing any more when it is closed', async () => {
    const { reporter, tried, givenUp, state } = setUp({ pausesMs: [forever] });
    state.away = true;
    await reporter.report(endOf('r1'));
    await reporter[Symbol.asyncDispose]();
    expect(tried).toEqual(['r1']);
    expect(givenUp).toEqual(['r1']);
  });
});
