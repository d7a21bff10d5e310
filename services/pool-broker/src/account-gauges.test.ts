import type { MessageInitShape } from '@bufbuild/protobuf';
import {
  AccountProblem,
  type AttemptReportSchema,
  AttemptResult,
  type Lease,
} from '@gateway/proto/pool/v1/account_pb.js';
import { directClient } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { ManualTime } from '@gateway/time/simulated';
import { describe, expect, it, onTestFinished } from 'vitest';
import { gatewayWith, sampleAccount } from './__fixtures__/sample-gateway.ts';
import { createPoolBrokerService } from './service.ts';
import { MemoryPoolStore } from './store/memory-pool-store.ts';
import type { PoolStore } from './store/pool-store.ts';

const startMs = Date.parse('2026-11-21T12:00:00Z');
const hourMs = 3_600_000;

const accounts = [sampleAccount('responses', 'a'), sampleAccount('responses', 'b'), sampleAccount('messages', 'm')];

function brokerOf(configured = accounts, store: PoolStore = new MemoryPoolStore()) {
  const time = new ManualTime(startMs);
  onTestFinished(() => time[Symbol.dispose]());
  const metrics = new Metrics();
  const runtime = { logger: createLogger('test', 'silent'), metrics };
  const parts = { store, random: () => 0 };
  const service = createPoolBrokerService({ gateway: gatewayWith(configured) }, runtime, parts);
  const pools = directClient(service.routes[0]);

  async function lease(model = 'gpt-5.5') {
    const { result } = await pools.acquire({ model, allowCandidateFailover: true });
    return result.case === 'lease' ? result.value : undefined;
  }
  async function end(of: Lease | undefined, report: MessageInitShape<typeof AttemptReportSchema>) {
    await pools.report({ attempt: { lease: of ?? expect.fail('there is no lease'), report } });
  }
  /** The samples whose name has this prefix, without comments. */
  async function shown(prefix: string) {
    const lines = (await metrics.exposition()).split('\n');
    return lines.filter((line) => line.startsWith(prefix)).map((line) => line.slice('gateway_'.length));
  }
  return { time, pools, lease, end, shown };
}

/** A quota of five hours that started two hours ago. */
const used = (usedFraction: number, more: { readonly name?: string; readonly models?: string } = {}) => ({
  ...{ name: '5h', usedFraction, lengthSeconds: 18_000, resetsAfterMs: 3 * hourMs },
  ...more,
});
const succeeded = { result: AttemptResult.SUCCEEDED };
const limitedFor = (hours: number) => ({
  result: AttemptResult.RATE_LIMITED,
  retryAfterMs: hours * hourMs,
});

describe('what metrics show of accounts', () => {
  it('is one state each, of which there is one series, and what is under way', async () => {
    const draining = sampleAccount('messages', 'm', { state: 'draining' });
    const { time, lease, end, shown } = brokerOf([...accounts.slice(0, 2), draining]);
    const [first] = [await lease(), await lease()];
    expect(await shown('gateway_account_state')).toEqual([
      'account_state{pool="responses",account="a",state="available",use="active"} 1',
      'account_state{pool="responses",account="b",state="available",use="active"} 1',
      'account_state{pool="messages",account="m",state="draining",use="draining"} 1',
    ]);
    await end(first, limitedFor(1));
    expect((await shown('gateway_account_state')).slice(0, 2).sort()).toEqual([
      expect.stringMatching(/account="a",state=".*1$/),
      expect.stringMatching(/account="b",state=".*1$/),
    ]);
    const name = first?.accountId.slice(-1);
    expect(await shown('gateway_account_state')).toContain(
      `account_state{pool="responses",account="${name}",state="cooling",use="active"} 1`,
    );
    expect(await shown('gateway_account_in_flight')).toContain(
      `account_in_flight{pool="responses",account="${name}"} 0`,
    );
    expect((await shown('gateway_account_in_flight')).filter((line) => line.endsWith(' 1'))).toHaveLength(1);
    time.advanceMs(hourMs);
    expect((await shown('gateway_account_state')).filter((line) => line.includes('available'))).toHaveLength(2);
  });

  it('tells an account that its provider took out of service from one that operators disabled', async () => {
    const unwanted = sampleAccount('messages', 'm', { state: 'disabled' });
    const { lease, end, shown } = brokerOf([sampleAccount('responses', 'a'), unwanted]);
    await end(await lease(), { result: AttemptResult.UNAUTHORIZED, problem: AccountProblem.ACCOUNT_DISABLED });
    expect(await shown('gateway_account_state')).toEqual([
      'account_state{pool="responses",account="a",state="disabled",use="active"} 1',
      'account_state{pool="messages",account="m",state="disabled",use="disabled"} 1',
    ]);
  });

  it('is what is left of each quota that is known, and when the first of them is used up', async () => {
    const { lease, end, shown } = brokerOf([sampleAccount('responses', 'a')]);
    expect(await shown('gateway_account_headroom_ratio')).toEqual([]);
    const windows = [used(0.5), used(0.75, { name: 'opus', models: 'x-*' }), used(0.25, { name: 'opus', models: 'y' })];
    await end(await lease(), { ...succeeded, windows });
    expect(await shown('gateway_account_headroom_ratio')).toEqual([
      'account_headroom_ratio{pool="responses",account="a",window="5h"} 0.5',
      'account_headroom_ratio{pool="responses",account="a",window="opus"} 0.25',
    ]);
    // Half of it is used in two hours; a family's quota does not appear for the account as a whole.
    expect(await shown('gateway_account_exhaustion')).toEqual([
      'account_exhaustion_seconds{pool="responses",account="a"} 7200',
    ]);
  });

  it('says no more of quotas that have begun anew', async () => {
    const { time, lease, end, shown } = brokerOf();
    await end(await lease(), { ...succeeded, windows: [used(0.5)] });
    expect(await shown('gateway_account_headroom_ratio')).toHaveLength(1);
    time.advanceMs(3 * hourMs);
    expect(await shown('gateway_account_headroom_ratio')).toEqual([]);
    expect(await shown('gateway_account_exhaustion')).toEqual([]);
  });
});

describe('what metrics show of pools', () => {
  it('is how many accounts are in each state, from the start', async () => {
    const { shown } = brokerOf();
    const states = (await shown('gateway_pool_accounts{')).filter((line) => line.includes('responses'));
    expect(states).toEqual([
      'pool_accounts{pool="responses",state="available"} 2',
      ...['cooling', 'probing', 'disabled', 'draining'].map(
        (state) => `pool_accounts{pool="responses",state="${state}"} 0`,
      ),
    ]);
  });

  it('is the forecast that the list of accounts has, and the average headroom of those in service', async () => {
    const { pools, lease, end, shown } = brokerOf();
    const [one, other] = [await lease(), await lease()];
    expect(await shown('gateway_pool_headroom_ratio')).toEqual([]);
    await end(one, { ...succeeded, windows: [used(0.9)] });
    await end(other, { ...succeeded, windows: [used(0.1)] });
    const { forecasts } = await pools.listAccounts({ pool: 'responses' });
    const [{ endsAtMs } = expect.fail()] = forecasts;
    const [exhaustion = ''] = await shown('gateway_pool_exhaustion_seconds');
    const [name, seconds] = exhaustion.split(' ');
    expect(name).toBe('pool_exhaustion_seconds{pool="responses"}');
    // One account of two is left, and half of its quota is used per hour.
    expect(Number(seconds)).toBeCloseTo(7_200, 0);
    expect(endsAtMs).toBeCloseTo(startMs + Number(seconds) * 1_000, -3);
    expect(await shown('gateway_pool_headroom_ratio')).toEqual(['pool_headroom_ratio{pool="responses"} 0.5']);
  });

  it('is 0 seconds while none of its accounts can be used', async () => {
    const { lease, end, shown } = brokerOf();
    for (let n = 0; n < 2; n++) await end(await lease(), { ...limitedFor(1), windows: [used(0.5)] });
    expect(await shown('gateway_pool_exhaustion_seconds')).toEqual(['pool_exhaustion_seconds{pool="responses"} 0']);
  });

  it('is how many requests found all accounts limited, and what else went wrong, 0 from the start', async () => {
    const { lease, end, shown } = brokerOf();
    for (const name of ['pool_accounts_disabled', 'account_tokens_not_persisted', 'account_tokens_unreadable']) {
      expect(await shown(`gateway_${name}_total{pool="responses"`)).toContainEqual(expect.stringMatching(/ 0$/));
    }
    const none = ['pool_exhausted_total{pool="responses"} 0', 'pool_exhausted_total{pool="messages"} 0'];
    expect(await shown('gateway_pool_exhausted_total')).toEqual(none);
    for (let n = 0; n < 2; n++) await end(await lease(), limitedFor(1));
    expect(await lease()).toBeUndefined();
    expect(await shown('gateway_pool_exhausted_total')).toEqual(['pool_exhausted_total{pool="responses"} 1', none[1]]);
    await end(await lease('claude-9'), limitedFor(1));
    // A class has a value for each pool that it can use.
    expect(await lease('gateway/sterk')).toBeUndefined();
    expect(await shown('gateway_pool_exhausted_total')).toEqual([
      'pool_exhausted_total{pool="responses"} 2',
      'pool_exhausted_total{pool="messages"} 1',
    ]);
  });

  it('is whether its provider fails', async () => {
    const { time, lease, end, shown } = brokerOf();
    const failed = { result: AttemptResult.NETWORK_ERROR };
    for (let n = 0; n < 12; n++) {
      await end(await lease(), failed);
      time.advanceMs(2_000);
    }
    await end(await lease(), failed);
    expect(await shown('gateway_pool_paused')).toEqual([
      'pool_paused{pool="responses"} 1',
      'pool_paused{pool="messages"} 0',
    ]);
    time.advanceMs(60_000);
    expect(await shown('gateway_pool_paused')).toEqual([
      'pool_paused{pool="responses"} 0',
      'pool_paused{pool="messages"} 0',
    ]);
  });
});

describe('showing a thousand accounts', () => {
  it('reads them a hundred at a time, once for all who ask meanwhile', async () => {
    const many = Array.from({ length: 1_000 }, (_, n) => sampleAccount('responses', `a${n}`));
    const reads: number[] = [];
    class CountedReads extends MemoryPoolStore {
      override readAccounts(ids: readonly string[], leaseTtlMs: number) {
        reads.push(ids.length);
        return super.readAccounts(ids, leaseTtlMs);
      }
    }
    const { shown } = brokerOf(many, new CountedReads());
    const [one, other] = await Promise.all([shown('gateway_account_state'), shown('gateway_account_state')]);
    expect(one).toHaveLength(1_000);
    expect(other).toEqual(one);
    expect(reads).toEqual(Array(10).fill(100));
  });
});
