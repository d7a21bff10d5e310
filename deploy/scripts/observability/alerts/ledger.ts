import { alertThresholds } from '@gateway/telemetry/alert-thresholds';
import type { Alert } from './alert.ts';
import { counter, gauge, missing } from './series.ts';

const outbox = 'gateway_edge_outbox';
const { usageLateSeconds, usageLostWindowMinutes } = alertThresholds;

export const ledgerAlerts: readonly Alert[] = [
  {
    name: 'GatewayUsageDeliveryLate',
    severity: 'ticket',
    expr: [
      `max by (namespace, job) (${outbox}_oldest_event_seconds) > ${usageLateSeconds}`,
      `or max by (namespace, job) (gateway_ledger_lag_seconds) > ${usageLateSeconds}`,
    ].join(' '),
    for: '5m',
    summary: 'Usage reaches the ledger late: {{ $labels.job }} is holding it',
    description:
      'The oldest usage that {{ $labels.job }} has not delivered is {{ $value | humanizeDuration }} old. Nothing is lost, but GET /v1/usage and reports lag behind.',
    cases: [
      {
        title: 'fires when an outbox is not taken from, and ends when it is empty',
        series: {
          [`${outbox}_oldest_event_seconds{job="edge-router",instance="a"}`]: `${gauge([0, 10])} 0+60x20 0x20`,
          [`${outbox}_oldest_event_seconds{job="edge-router",instance="b"}`]: gauge([250, 60]),
        },
        moments: [
          { at: '20m', firing: [] },
          { at: '21m', firing: [{ labels: { job: 'edge-router' }, ...late('edge-router', '11m 0s') }] },
          { at: '32m', firing: [] },
        ],
      },
      {
        title: 'fires when the stream is not recorded',
        series: {
          'gateway_ledger_lag_seconds{job="usage-ingest",instance="a"}': `${gauge([0, 10])} 0+60x20`,
          'gateway_ledger_lag_seconds{job="usage-ingest",instance="b"}': gauge([250, 40]),
        },
        moments: [
          { at: '20m', firing: [] },
          { at: '21m', firing: [{ labels: { job: 'usage-ingest' }, ...late('usage-ingest', '11m 0s') }] },
        ],
      },
      {
        title: 'is silent while usage takes five minutes at most',
        series: {
          [`${outbox}_oldest_event_seconds{job="edge-router"}`]: gauge([300, 60]),
          'gateway_ledger_lag_seconds{job="usage-ingest"}': gauge([300, 60]),
        },
        moments: [{ at: '50m', firing: [] }],
      },
    ],
  },
  {
    name: 'GatewayOutboxOrphaned',
    severity: 'ticket',
    expr: [
      `max by (namespace, job, instance) (last_over_time(${outbox}_oldest_event_seconds[7d])) > 60`,
      `unless on (namespace, job, instance) ${outbox}_oldest_event_seconds`,
    ].join(' '),
    for: '15m',
    summary: 'Edge {{ $labels.instance }} disappeared with usage in its outbox',
    description:
      'When it was last seen, its oldest usage had waited for {{ $value | humanizeDuration }}. The usage is not in the ledger until an edge runs on that volume again.',
    cases: [
      {
        title: 'fires when an edge whose usage waits is gone, and ends when it is back',
        series: {
          [`${outbox}_oldest_event_seconds{job="edge-router",instance="edge-router-3"}`]: `0x9 0+60x10 ${missing(60)} 0x10`,
        },
        moments: [
          // Prometheus uses the last sample as the present value for five minutes.
          { at: '38m', firing: [] },
          { at: '41m', firing: [orphaned('edge-router-3', '10m 0s')] },
          { at: '79m', firing: [orphaned('edge-router-3', '10m 0s')] },
          { at: '82m', firing: [] },
        ],
      },
      {
        title: 'fires for a week',
        pace: '6h',
        series: {
          [`${outbox}_oldest_event_seconds{job="edge-router",instance="edge-router-3"}`]: '70',
        },
        moments: [
          { at: '6d', firing: [orphaned('edge-router-3', '1m 10s')] },
          { at: '7d6h', firing: [] },
        ],
      },
      {
        title: 'is silent about edges that had delivered what they owed, and about those that are still there',
        series: {
          [`${outbox}_oldest_event_seconds{job="edge-router",instance="edge-router-2"}`]: `60x10 ${missing(120)}`,
          [`${outbox}_oldest_event_seconds{job="edge-router",instance="edge-router-1"}`]: '0+60x120',
        },
        moments: [
          { at: '40m', firing: [] },
          { at: '2h', firing: [] },
        ],
      },
    ],
  },
  {
    name: 'GatewayUsageLost',
    severity: 'page',
    expr: [
      ...['lost_events_total', 'damaged_total', 'write_errors_total'].map(
        (name) => `sum by (namespace) (increase(${outbox}_${name}[${usageLostWindowMinutes}m])) > 0`,
      ),
      `sum by (namespace) (increase(gateway_usage_events_total{result="dead_letter"}[${usageLostWindowMinutes}m])) > 0`,
    ].join(' or '),
    summary: 'Usage is lost, unreadable, or in memory only',
    description:
      'An outbox could not be written, part of one could not be read, or usage could not be recorded. Answered requests may be missing from the ledger.',
    cases: [
      ...['lost_events_total', 'damaged_total', 'write_errors_total'].map((name) => ({
        title: `fires when ${outbox}_${name} grows, and ends a quarter of an hour later`,
        series: {
          [`${outbox}_${name}{instance="a"}`]: counter([0, 20], [2, 1], [0, 40]),
          [`${outbox}_${name}{instance="b"}`]: gauge([0, 61]),
        },
        moments: [
          { at: '20m', firing: [] },
          { at: '21m', firing: [{}] },
          { at: '34m', firing: [{}] },
          { at: '36m', firing: [] },
        ],
      })),
      {
        title: 'fires when usage became a dead letter, the first one and further ones',
        series: {
          'gateway_usage_events_total{instance="a",result="dead_letter"}': '0x19 1x29 2x29',
          'gateway_usage_events_total{instance="b",result="dead_letter"}': gauge([1, 80]),
          'gateway_usage_events_total{instance="a",result="recorded"}': counter([100, 80]),
        },
        moments: [
          { at: '19m', firing: [] },
          { at: '20m', firing: [{}] },
          { at: '36m', firing: [] },
          { at: '51m', firing: [{}] },
          { at: '66m', firing: [] },
        ],
      },
      {
        title: 'is silent while usage is recorded, and about what is long over',
        series: {
          'gateway_usage_events_total{result="recorded"}': counter([100, 60]),
          'gateway_usage_events_total{result="dead_letter"}': gauge([4, 60]),
          [`${outbox}_lost_events_total`]: gauge([4, 60]),
          [`${outbox}_damaged_total`]: gauge([4, 60]),
          [`${outbox}_write_errors_total`]: gauge([4, 60]),
        },
        moments: [{ at: '30m', firing: [] }],
      },
      {
        title: 'is silent about a process that is new, or was out of sight, whatever it has counted',
        series: {
          'gateway_usage_events_total{instance="new",result="dead_letter"}': `${missing(20)} 0x40`,
          'gateway_usage_events_total{instance="back",result="dead_letter"}': `4x10 ${missing(20)} 4x30`,
        },
        moments: ['21m', '31m', '36m', '50m'].map((at) => ({ at, firing: [] })),
      },
    ],
  },
];

function late(job: string, age: string) {
  return {
    summary: `Usage reaches the ledger late: ${job} is holding it`,
    description: `The oldest usage that ${job} has not delivered is ${age} old. Nothing is lost, but GET /v1/usage and reports lag behind.`,
  };
}

function orphaned(instance: string, age: string) {
  return {
    labels: { job: 'edge-router', instance },
    summary: `Edge ${instance} disappeared with usage in its outbox`,
    description: `When it was last seen, its oldest usage had waited for ${age}. The usage is not in the ledger until an edge runs on that volume again.`,
  };
}
