import { create } from '@bufbuild/protobuf';
import { createClient, createRouterTransport } from '@connectrpc/connect';
import { SystemService } from '@gateway/proto/admin/v1/system_service_pb.js';
import { ListAccountsResponseSchema } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { ReplayDeadLettersResponseSchema } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { createLogger } from '@gateway/telemetry';
import { roomMs } from '@gateway/testkit/room';
import { ManualTime } from '@gateway/time/simulated';
import { describe, expect, it, onTestFinished } from 'vitest';
import { FigureReader, type FigureReaderOptions } from '../figures/figure-reader.ts';
import type { ReplicaReading } from '../parts.ts';
import { systemService } from './system-service.ts';

const beginMs = Date.parse('2026-11-21T09:00:00Z');

/**
 * A gateway of one edge, which counts a hundred requests with each reading, ten seconds after the
 * one before.
 */
function watchedGateway(intervalsMs = { watched: 5, otherwise: 5 }) {
  const time = new ManualTime(beginMs);
  onTestFinished(() => time[Symbol.dispose]());
  const world = { readings: 0, problem: undefined as string | undefined };
  const read = async (): Promise<readonly ReplicaReading[]> => {
    world.readings += 1;
    time.advanceMs(10_000);
    return [edge(world.readings, time.nowMs, world.problem)];
  };
  const peers = {
    replicas: { read },
    broker: { listAccounts: async () => create(ListAccountsResponseSchema) },
    usageLedger: { replayDeadLetters: async () => create(ReplayDeadLettersResponseSchema, { replayed: 1 }) },
    // The test calls no other methods of these services.
  } as unknown as FigureReaderOptions['peers'];
  const people = async () => ({ missingGroups: [], withoutLookups: 0 });
  const figures = new FigureReader({ peers, people, logger: createLogger('admin', 'silent'), intervalsMs });
  figures.start();
  onTestFinished(() => figures[Symbol.asyncDispose]());
  const transport = createRouterTransport(({ service }) => service(SystemService, systemService(figures)));
  return { client: createClient(SystemService, transport), world, figures };
}

function edge(readings: number, nowMs: number, problem: string | undefined): ReplicaReading {
  const metrics = [
    `http_server_request_duration_seconds_count{http_response_status_code="200"} ${readings * 100}`,
    'gateway_build_info{version="1.2.3",revision="x"} 1',
    `process_start_time_seconds ${beginMs / 1_000}`,
    `process_cpu_seconds_total ${(nowMs - beginMs) / 4_000}`,
    'process_resident_memory_bytes{worker="1"} 100',
    'process_resident_memory_bytes{worker="2"} 150',
    'gateway_edge_outbox_backlog_events 3',
  ].join('\n');
  return { service: 'edge-router', address: '10.0.0.1:9090', problem, metrics: problem ? undefined : metrics };
}

describe('SystemService', () => {
  it('sends all points first, and then those that are new or have changed', async () => {
    const { client } = watchedGateway();
    const watching = new AbortController();
    const lengths: number[] = [];
    const rates = new Set<number>();
    const watch = async () => {
      for await (const { overview } of client.watchOverview({}, { signal: watching.signal })) {
        lengths.push(overview?.points.length ?? 0);
        for (const { requestsPerSecond } of overview?.points ?? []) rates.add(requestsPerSecond);
        expect(overview?.attention.map(({ text }) => text).join()).toMatch(/^1 request record could not/);
        if (lengths.length === 4) watching.abort();
      }
    };
    await expect(watch()).rejects.toThrow(/abort/i);
    expect(lengths.slice(1)).toEqual([lengths[0] === 0 ? 1 : 2, 2, 2]);
    expect(rates).toEqual(new Set([10]));
  });

  it('lists replicas with version, start, memory and share of processor time, and why one is not ready', async () => {
    const { client, world } = watchedGateway();
    const [replica] = (await client.listReplicas({})).replicas;
    expect(replica).toMatchObject({ service: 'edge-router', version: '1.2.3', ready: true, problem: '' });
    expect(replica).toMatchObject({ residentBytes: 250, cpuShare: 0.25, figures: { outbox_waiting_events: 3 } });
    expect(replica?.startedAtMs).toBe(beginMs);
    world.problem = 'it did not answer within a second';
    await expect
      .poll(async () => (await client.listReplicas({})).replicas)
      .toMatchObject([{ ready: false, problem: world.problem, version: '', figures: {} }]);
    expect((await client.getOverview({})).overview?.attention[0]?.text).toMatch(/^No edge-router is ready/);
  });

  it('reads once for all viewers, and immediately for the first one', async () => {
    const { client, world, figures } = watchedGateway({ watched: 60_000, otherwise: 60_000 });
    await client.getOverview({});
    const before = world.readings;
    const watching = AbortSignal.timeout(roomMs(10_000));
    const firsts = await Promise.all([1, 2, 3].map(() => figures.watch(watching).next()));
    expect(new Set(firsts.map(({ value }) => value)).size).toBe(1);
    expect(world.readings - before).toBeLessThanOrEqual(2);
  });
});
