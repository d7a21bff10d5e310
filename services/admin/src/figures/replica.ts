import { create } from '@bufbuild/protobuf';
import { type Replica, ReplicaSchema } from '@gateway/proto/admin/v1/system_service_pb.js';
import type { ReplicaReading } from '../parts.ts';
import { countedMetrics } from './counted-figures.ts';
import { maxOf, parseMetrics, type Samples, sumOf } from './prometheus-text.ts';

/** One replica, at the time of a reading. */
export interface ReadReplica {
  readonly service: string;
  readonly address: string;
  /** Why it is not ready, or could not be read. Undefined if it is ready. */
  readonly problem: string | undefined;
  /** Undefined if it could not be read. */
  readonly samples: Samples | undefined;
  readonly atMs: number;
  /** As in ReplicaReading. */
  readonly asked?: ReplicaReading['asked'];
}

/** Figures of single replicas, by their names in a console. With workers, the worst of them. */
const namedFigures: Readonly<Record<string, string>> = {
  outbox_waiting_events: 'gateway_edge_outbox_backlog_events',
  outbox_oldest_seconds: 'gateway_edge_outbox_oldest_event_seconds',
  stream_lag_events: 'gateway_usage_backlog_messages',
  ledger_lag_seconds: 'gateway_ledger_lag_seconds',
  event_loop_p99_seconds: 'nodejs_eventloop_lag_p99_seconds',
  certificate_expires_at: 'gateway_certificate_not_after_timestamp_seconds',
  workers: 'gateway_workers_serving',
  disk_free_bytes: 'gateway_edge_outbox_disk_free_bytes',
  disk_size_bytes: 'gateway_edge_outbox_disk_size_bytes',
};

const clockMetric = 'gateway_clock_timestamp_seconds';

const readMetrics: ReadonlySet<string> = new Set([
  ...countedMetrics,
  ...Object.values(namedFigures),
  clockMetric,
  'gateway_open_streams',
  'gateway_backend_up',
  'gateway_limiter_store_away',
  'gateway_configuration_last_reload_successful',
  'gateway_build_info',
  'process_start_time_seconds',
  'process_resident_memory_bytes',
  'process_cpu_seconds_total',
]);

export function readReplica({ service, address, metrics, problem, asked }: ReplicaReading, atMs: number): ReadReplica {
  const samples = metrics === undefined ? undefined : parseMetrics(metrics, readMetrics);
  return { service, address, problem, samples, atMs, ...(asked && { asked }) };
}

/**
 * @param before the same replica, read earlier: the figures are since then. Undefined: since it
 * started.
 */
export function toReplica(replica: ReadReplica, before: ReadReplica | undefined): Replica {
  const { service, address, problem, samples } = replica;
  const known = { service, address, ready: problem === undefined, problem: problem ?? '' };
  if (samples === undefined) return create(ReplicaSchema, known);
  const startedAtMs = startOf(samples);
  return create(ReplicaSchema, {
    ...known,
    version: samples.get('gateway_build_info')?.[0]?.labels.version ?? '',
    ...(startedAtMs === undefined ? {} : { startedAtMs }),
    figures: { ...figuresOf(samples), ...clockOffset(samples, replica.asked) },
    residentBytes: sumOf(samples, 'process_resident_memory_bytes') ?? 0,
    cpuShare: cpuShareOf(replica, before),
  });
}

function figuresOf(samples: Samples): Record<string, number> {
  const figures = Object.entries(namedFigures).map(([name, metric]) => [name, maxOf(samples, metric)] as const);
  const openStreams = ['open_streams', sumOf(samples, 'gateway_open_streams')] as const;
  return Object.fromEntries(
    [...figures, openStreams].flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

/**
 * The least number of seconds by which its clock is ahead of this one. The reading happened at some
 * moment while the metrics were asked for. Negative if it is behind.
 */
function clockOffset(samples: Samples, asked: ReadReplica['asked']): Record<string, number> {
  const clockSeconds = maxOf(samples, clockMetric);
  if (clockSeconds === undefined || asked === undefined) return {};
  const [ahead, behind] = [clockSeconds - asked.toMs / 1_000, clockSeconds - asked.fromMs / 1_000];
  return { clock_offset_seconds: Math.max(0, ahead) + Math.min(0, behind) };
}

/** Seconds of processor time in a second. Workers count with their process. */
function cpuShareOf({ samples, atMs }: ReadReplica, before: ReadReplica | undefined): number {
  if (samples === undefined) return 0;
  const startedAtMs = startOf(samples) ?? atMs;
  const isSame = before?.samples !== undefined && startOf(before.samples) === startedAtMs && before.atMs < atMs;
  const used = cpuSecondsOf(samples) - (isSame ? cpuSecondsOf(before.samples) : 0);
  const seconds = (atMs - (isSame ? before.atMs : startedAtMs)) / 1_000;
  return seconds <= 0 ? 0 : Math.max(0, used / seconds);
}

function cpuSecondsOf(samples: Samples | undefined): number {
  return sumOf(samples, 'process_cpu_seconds_total') ?? 0;
}

/** Workers may be younger than their process. */
function startOf(samples: Samples): number | undefined {
  const starts = (samples.get('process_start_time_seconds') ?? []).map(({ value }) => value * 1_000);
  return starts.length === 0 ? undefined : Math.min(...starts);
}
