import type { MessageInitShape } from '@bufbuild/protobuf';
import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect';
import {
  type OverviewPointSchema,
  type OverviewSchema,
  type ReplicaSchema,
  Severity,
  type SystemService,
} from '@gateway/proto/admin/v1/system_service_pb.js';

export const systemService: Partial<ServiceImpl<typeof SystemService>> = {
  getOverview: () => ({ overview: overview(90) }),
  async *watchOverview(_request, { signal }) {
    for (let points = 90; !signal.aborted; points = 2) {
      if (sessionStorage.getItem('made-up-outage') !== null) throw new ConnectError('fetch failed', Code.Unavailable);
      yield { overview: overview(points) };
      await new Promise((resolve) => setTimeout(resolve, 2000));
    }
  },
  listReplicas: () => ({ replicas: replicas() }),
};

const stepMs = 10_000;

function overview(count: number): MessageInitShape<typeof OverviewSchema> {
  const now = Date.now();
  const last = Math.floor(now / stepMs) * stepMs;
  return {
    atMs: now,
    points: Array.from({ length: count }, (_, index) => point(last - (count - 1 - index) * stepMs)),
    attention: [
      {
        severity: Severity.CRITICAL,
        text: 'The pool research has no available account. Add or enable one.',
        link: '/pools/research',
      },
      {
        severity: Severity.WARNING,
        text: 'The quotas of the pool responses for gpt-5.5-pro* run out in 38 minutes at the current rate.',
        link: '/pools/responses',
      },
      {
        severity: Severity.WARNING,
        text: '1 of 3 edge-router replicas is not ready (10.0.3.9:9090: the limiter does not answer).',
        link: '/system',
      },
    ],
  };
}

/** Waves that depend only on the time, with a bad half minute. */
function point(atMs: number): MessageInitShape<typeof OverviewPointSchema> {
  const t = atMs / stepMs;
  const wave = Math.sin(t / 9) * 40 + Math.sin(t / 3.1) * 14 + noise(t) * 22;
  const bad = t % 60 < 4 ? 1 : 0;
  const requests = 182 + wave;
  return {
    atMs,
    requestsPerSecond: requests,
    errorsPerSecond: 0.2 + noise(t + 1) * 0.4 + bad * 9,
    refusalsPerSecond: 2.2 + noise(t + 2) * 1.4 + bad * 6,
    firstTokenP50Seconds: 0.61 + noise(t + 3) * 0.12 + bad * 0.4,
    firstTokenP95Seconds: 2.3 + noise(t + 4) * 0.9 + bad * 3,
    tokensPerMinuteByModel: {
      'gpt-5.5': requests * 9200,
      'claude-sonnet-5': requests * 6100 + noise(t) * 200_000,
      'gpt-5.5-mini': requests * 2500,
      'claude-opus-4-8': requests * 1700 + noise(t + 7) * 100_000,
      'claude-haiku-4-5': requests * 900,
    },
    refusalsPerMinuteByCode: {
      rate_limit_exceeded: 120 + noise(t) * 50,
      pool_exhausted: bad * 300 + 4,
      unauthorized: noise(t + 9) * 12,
    },
    openStreams: Math.round(requests * 6.4),
  };
}

function noise(n: number): number {
  const x = Math.sin(n * 127.1) * 43758.5453;
  return x - Math.floor(x);
}

function replicas(): MessageInitShape<typeof ReplicaSchema>[] {
  const replica = (
    service: string,
    address: string,
    more: MessageInitShape<typeof ReplicaSchema> = {},
  ): MessageInitShape<typeof ReplicaSchema> => ({
    service,
    address,
    version: '0.9.2',
    startedAtMs: Date.now() - 93 * 3_600_000,
    ready: true,
    residentBytes: 214_000_000,
    cpuShare: 0.12,
    ...more,
  });
  const edge = { outbox_waiting_events: 3, open_streams: 388, event_loop_delay_p99_seconds: 0.011 };
  return [
    replica('admin', '10.0.1.4:9090'),
    replica('edge-router', '10.0.3.7:9090', { figures: edge, cpuShare: 0.61, residentBytes: 480_000_000 }),
    replica('edge-router', '10.0.3.8:9090', {
      figures: { ...edge, outbox_waiting_events: 1 },
      cpuShare: 0.58,
      residentBytes: 471_000_000,
    }),
    replica('edge-router', '10.0.3.9:9090', {
      figures: { ...edge, outbox_waiting_events: 18_420 },
      ready: false,
      problem: 'The limiter does not answer.',
      version: '0.9.1',
    }),
    replica('identity', '10.0.1.5:9090'),
    replica('limiter', '10.0.2.2:9090', { cpuShare: 0.33 }),
    replica('limiter', '10.0.2.3:9090', {
      version: '',
      ready: false,
      startedAtMs: undefined,
      residentBytes: 0,
      cpuShare: 0,
      problem: 'It did not answer within 2 s.',
    }),
    replica('messages-adapter', '10.0.4.1:9090', { cpuShare: 0.41 }),
    replica('pool-broker', '10.0.1.8:9090', { figures: { accounts_available: 17, accounts_cooling: 2 } }),
    replica('responses-adapter', '10.0.4.5:9090', { cpuShare: 0.44 }),
    replica('usage-ingest', '10.0.5.1:9090', { figures: { stream_lag_events: 210, ledger_lag_seconds: 1.4 } }),
    replica('usage-query', '10.0.5.6:9090'),
  ];
}
