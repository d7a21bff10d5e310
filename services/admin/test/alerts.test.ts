import type { GatewayDatabase } from '@gateway/database';
import { testDatabases } from '@gateway/database/testing';
import { GroupService, IdentityService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { AlertFormat, PoolOperatorService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { UsageReportService } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { createLogger, Metrics } from '@gateway/telemetry';
import { ManualTime } from '@gateway/time/simulated';
import { describe, expect, it, onTestFinished } from 'vitest';
import { alertReceiver } from '../src/__fixtures__/alert-receiver.ts';
import { peer } from '../src/__fixtures__/rpc-world.ts';
import { AlertLoop } from '../src/alerts/alert-loop.ts';
import { AlertSender } from '../src/alerts/alert-sender.ts';
import { AlertStore, retentionDays } from '../src/alerts/alert-store.ts';
import type { Cause } from '../src/alerts/causes.ts';
import type { AdminPeers } from '../src/parts.ts';

const startMs = Date.parse('2026-11-27T10:00:00Z');
const dayMs = 86_400_000;
const cause = (name = 'budget:g:80'): Cause => ({
  ...{ kind: 'budget', subject: 'g', text: 't', link: '', cause: name, period: 'day 2026-11-27', details: {} },
});

describe.each(testDatabases)('warnings over $name', ({ open }) => {
  async function world() {
    const opened = await open();
    onTestFinished(() => opened[Symbol.asyncDispose]());
    const time = new ManualTime(startMs);
    onTestFinished(() => time[Symbol.dispose]());
    return { database: opened.database, time, store: new AlertStore(opened.database) };
  }

  it('are one message for each receiver, cause and period, however many replicas find them', async () => {
    const { store } = await world();
    const found = ['ops', 'pager'].map((receiver) => ({ receiver, cause: cause() }));
    await Promise.all([1, 2, 3].map(() => store.note(found)));
    await store.note([{ receiver: 'ops', cause: { ...cause(), period: 'day 2026-11-28' } }]);
    await store.note(Array.from({ length: 1_200 }, (_, index) => ({ receiver: 'many', cause: cause(`c${index}`) })));
    const rows = await store.list(1_000_000);
    expect(rows.filter(({ receiver }) => receiver !== 'many')).toHaveLength(3);
    expect(rows).toHaveLength(1_203);
  });

  it('are claimed by one replica, and by another one when that has died', async () => {
    const { store, time } = await world();
    await store.note([{ receiver: 'ops', cause: cause() }]);
    const [row = expect.fail()] = await store.due('ops');
    const claims = (await Promise.all([1, 2, 3].map(() => store.claim(row)))).filter((each) => each !== undefined);
    expect(claims).toHaveLength(1);
    expect(await store.due('ops')).toEqual([]);
    time.advanceMs(60_000);
    const [late = expect.fail()] = await store.due('ops');
    const second = (await store.claim(late)) ?? expect.fail();
    expect(second).toMatchObject({ alert_id: row.alert_id, attempts: 2 });
    // The first one was only slow.
    expect(await store.end(claims[0] ?? expect.fail(), { state: 'failed', answer: '500' })).toBeUndefined();
    expect(await store.end(second, { state: 'sent', answer: '204' })).toMatchObject({
      ...{ state: 'sent', answer: '204', attempts: 2, ended_at_ms: time.nowMs },
    });
    time.advanceMs(60_000);
    expect(await store.due('ops')).toEqual([]);
  });

  it('wait together while their receiver is away', async () => {
    const { store, time } = await world();
    await store.note(['a', 'b'].map((name) => ({ receiver: 'ops', cause: cause(name) })));
    const [row = expect.fail()] = await store.due('ops');
    const claimed = (await store.claim(row)) ?? expect.fail();
    const dueAtMs = startMs + 5_000;
    await store.end(claimed, { state: 'retry', answer: '503', dueAtMs });
    await store.postpone('ops', dueAtMs);
    expect(await store.due('ops')).toEqual([]);
    expect(await store.nextDueMs(['ops'])).toBe(dueAtMs);
    time.setMs(dueAtMs);
    expect(await store.due('ops')).toHaveLength(2);
  });

  it('are given up after a day, and removed long after their period', async () => {
    const { store, time } = await world();
    await store.note([{ receiver: 'removed', cause: cause() }]);
    time.advanceMs(dayMs + 1);
    await store.clean();
    expect(await store.list(9)).toMatchObject([{ state: 'failed' }]);
    time.setMs(startMs + retentionDays * dayMs);
    await store.clean();
    expect(await store.list(9)).toHaveLength(1);
    time.advanceMs(1);
    await store.clean();
    expect(await store.list(9)).toEqual([]);
  });

  it('are sent once by several replicas, also while another source and another receiver fail', async () => {
    const { database, store, time } = await world();
    const [good, failing] = [await alertReceiver(), await alertReceiver(503, 503)];
    const receivers = [
      { name: 'good', url: good.url, kinds: ['tokens_per_day', 'budget', 'pool'] },
      { name: 'failing', url: failing.url, kinds: ['tokens_per_day'] },
      { name: 'other', url: good.url, kinds: ['account'] },
    ];
    const peers: Partial<AdminPeers> = {
      poolOperator: peer(PoolOperatorService, {
        listAlertReceivers: () => ({ receivers: receivers.map((each) => ({ ...each, format: AlertFormat.JSON })) }),
      }),
      groups: peer(GroupService, { listGroups: () => Promise.reject(new Error('the groups are away')) }),
      identity: peer(IdentityService, {
        list: ({ pageToken }) => ({
          nextPageToken: pageToken === '' ? 'next' : '',
          tokens: [
            { tokenId: `full${pageToken}`, label: 'ci', limits: { tokensPerDay: 100 } },
            { tokenId: 'unlimited', label: 'x' },
          ],
        }),
      }),
      usageReport: peer(UsageReportService, {
        reportUsage: () => ({ rows: [{ tokenId: 'full', totals: { inputTokens: 50, outputTokens: 35 } }] }),
      }),
    };
    const loops = [1, 2, 3].map(() => loopOn(database, peers as AdminPeers));
    const states = async () => {
      // The pauses between attempts pass.
      time.advanceMs(1_000);
      return (await store.list(9)).map(({ state }) => state);
    };
    await expect.poll(states).toEqual(['sent', 'sent']);
    await Promise.all(loops.map((loop) => loop[Symbol.asyncDispose]()));
    expect(good.received.map(({ body }) => JSON.parse(body).data)).toMatchObject([{ threshold: 80, subject: 'full' }]);
    expect(failing.received).toHaveLength(3);
    expect(new Set(failing.received.map(({ body }) => body)).size).toBe(1);
  });

  it('are sent to the receivers that were known last while the broker is away', async () => {
    const { database } = await world();
    const { url, received } = await alertReceiver();
    let [isAway, isKnown, outputTokens] = [false, false, 0];
    const peers: Partial<AdminPeers> = {
      poolOperator: peer(PoolOperatorService, {
        listAlertReceivers: () => {
          if (isAway) throw new Error('the broker is away');
          isKnown = true;
          return { receivers: [{ name: 'ops', url, format: AlertFormat.SLACK, kinds: ['tokens_per_day'] }] };
        },
      }),
      identity: peer(IdentityService, {
        list: () => ({ tokens: [{ tokenId: 't', label: 'ci', limits: { tokensPerDay: 100 } }] }),
      }),
      usageReport: peer(UsageReportService, {
        reportUsage: () => ({ rows: [{ tokenId: 't', totals: { outputTokens } }] }),
      }),
    };
    loopOn(database, peers as AdminPeers);
    await expect.poll(() => isKnown).toBe(true);
    isAway = true;
    outputTokens = 51;
    await expect.poll(() => received.length).toBe(1);
  });
});

function loopOn(database: GatewayDatabase, peers: AdminPeers): AlertLoop {
  const proxies = { httpsProxy: '', httpProxy: '', noProxy: '' };
  const sender = new AlertSender({ proxies, publicUrl: undefined });
  const figures = { read: () => Promise.reject(new Error('no figures')) };
  const runtime = { logger: createLogger('admin', 'silent'), metrics: new Metrics() };
  const store = new AlertStore(database);
  const loop = new AlertLoop({ peers, figures, store, sender, ...runtime, intervalMs: 50 });
  loop.start();
  onTestFinished(async () => {
    await loop[Symbol.asyncDispose]();
    await sender[Symbol.asyncDispose]();
  });
  return loop;
}
