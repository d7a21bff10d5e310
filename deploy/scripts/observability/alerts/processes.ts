import { alertThresholds } from '@gateway/telemetry/alert-thresholds';
import type { Alert } from './alert.ts';
import { gauge, missing } from './series.ts';

/** As scrape configurations name them: each service, and the gateway in one process. */
export const jobs = [
  'gateway',
  'edge-router',
  'limiter',
  'pool-broker',
  'responses-adapter',
  'messages-adapter',
  'identity',
  'usage-ingest',
  'usage-query',
  'admin',
] as const;

const up = `up{job=~"${jobs.join('|')}"}`;
const remaining = 'gateway_certificate_not_after_timestamp_seconds - time()';
const { certificateExpirySeconds, certificateRemainingShare } = alertThresholds;

export const processAlerts: readonly Alert[] = [
  {
    name: 'GatewayTargetDown',
    severity: 'page',
    expr: [
      `sum by (namespace, job) (${up}) == 0`,
      // A job without targets has no `up`.
      `or (max by (namespace, job) (max_over_time(${up}[1d])) == 1 unless on (namespace, job) ${up})`,
    ].join(' '),
    for: '2m',
    summary: 'No process of {{ $labels.job }} answers Prometheus',
    description:
      'Either all processes of {{ $labels.job }} are down, and requests that need them fail; or Prometheus cannot reach them, and other alerts have no data.',
    cases: [
      {
        title: 'fires when all processes of a job are down, and ends when one is up',
        series: {
          'up{job="limiter",instance="a"}': gauge([1, 10], [0, 10], [1, 10]),
          'up{job="limiter",instance="b"}': gauge([1, 8], [0, 22]),
        },
        moments: [
          { at: '11m', firing: [] },
          { at: '12m', firing: [noneOf('limiter')] },
          { at: '20m', firing: [] },
        ],
      },
      {
        title: 'fires when a job that was there has no targets any more, for a day',
        pace: '30m',
        series: { 'up{job="gateway",instance="a"}': `1x30 ${missing(30)}` },
        moments: [
          { at: '30m', firing: [] },
          { at: '1h30m', firing: [noneOf('gateway')] },
          { at: '24h', firing: [noneOf('gateway')] },
          { at: '25h', firing: [] },
        ],
      },
      {
        title: 'is silent while one process is up, about a short restart, and about jobs of others',
        series: {
          'up{job="limiter",instance="a"}': gauge([1, 30]),
          'up{job="limiter",instance="b"}': gauge([0, 8], [1, 22]),
          'up{job="identity",instance="a"}': gauge([1, 10], [0, 2], [1, 18]),
          'up{job="node-exporter",instance="a"}': gauge([0, 30]),
        },
        moments: ['11m', '12m', '13m', '29m'].map((at) => ({ at, firing: [] })),
      },
    ],
  },
  {
    name: 'GatewayTargetDown',
    severity: 'ticket',
    expr: `${up} == 0 and on (namespace, job) (sum by (namespace, job) (${up}) > 0)`,
    for: '10m',
    summary: '{{ $labels.instance }} of {{ $labels.job }} does not answer Prometheus',
    description: 'Other processes of {{ $labels.job }} serve in its place. It is down, hangs, or is unreachable.',
    cases: [
      {
        title: 'fires when one of several processes stays down, and ends when it is back',
        series: {
          'up{job="limiter",instance="a"}': gauge([1, 40]),
          'up{job="limiter",instance="b"}': gauge([1, 10], [0, 15], [1, 15]),
        },
        moments: [
          { at: '19m', firing: [] },
          {
            at: '20m',
            firing: [
              {
                labels: { job: 'limiter', instance: 'b' },
                summary: 'b of limiter does not answer Prometheus',
                description: 'Other processes of limiter serve in its place. It is down, hangs, or is unreachable.',
              },
            ],
          },
          { at: '25m', firing: [] },
        ],
      },
      {
        title: 'leaves it to the page when none is up',
        series: { 'up{job="limiter",instance="a"}': gauge([1, 10], [0, 30]) },
        moments: [
          {
            at: '30m',
            firing: [{ ...noneOf('limiter'), labels: { job: 'limiter', severity: 'page' } }],
          },
        ],
      },
      {
        title: 'is silent about a restart of some minutes, and about jobs of others',
        series: {
          'up{job="limiter",instance="a"}': gauge([1, 10], [0, 9], [1, 21]),
          'up{job="limiter",instance="b"}': gauge([1, 40]),
          'up{job="node-exporter",instance="a"}': gauge([0, 40]),
          'up{job="node-exporter",instance="b"}': gauge([1, 40]),
        },
        moments: ['11m', '18m', '20m', '30m'].map((at) => ({ at, firing: [] })),
      },
    ],
  },
  {
    name: 'GatewayEventLoopBlocked',
    severity: 'ticket',
    expr: 'max by (namespace, job, instance, worker) (nodejs_eventloop_lag_p99_seconds) > 0.25',
    for: '5m',
    summary: 'The event loop of {{ $labels.instance }} ({{ $labels.job }}) is blocked',
    description:
      'One event loop turn in a hundred takes {{ $value | humanizeDuration }}. Everything else in this process waits that long.',
    cases: [
      {
        title: 'fires when the loop is blocked for five minutes, and ends when it is not',
        series: {
          'nodejs_eventloop_lag_p99_seconds{job="edge-router",instance="a"}': gauge([0.02, 5], [0.3, 10], [0.02, 5]),
          'nodejs_eventloop_lag_p99_seconds{job="edge-router",instance="a",worker="2"}': gauge(
            [0.02, 5],
            [1.5, 10],
            [0.02, 5],
          ),
          'nodejs_eventloop_lag_p99_seconds{job="edge-router",instance="b"}': gauge([0.25, 20]),
        },
        moments: [
          { at: '9m', firing: [] },
          {
            at: '10m',
            firing: [
              {
                labels: { job: 'edge-router', instance: 'a' },
                summary: 'The event loop of a (edge-router) is blocked',
                description:
                  'One event loop turn in a hundred takes 300ms. Everything else in this process waits that long.',
              },
              {
                labels: { job: 'edge-router', instance: 'a', worker: '2' },
                summary: 'The event loop of a (edge-router) is blocked',
                description:
                  'One event loop turn in a hundred takes 1.5s. Everything else in this process waits that long.',
              },
            ],
          },
          { at: '15m', firing: [] },
        ],
      },
      {
        title: 'is silent about a long moment now and then',
        series: { 'nodejs_eventloop_lag_p99_seconds{job="limiter",instance="a"}': '0.02x3 2x3 0.02x3 2x3 0.02x20' },
        moments: ['5m', '8m', '12m', '16m', '30m'].map((at) => ({ at, firing: [] })),
      },
    ],
  },
  {
    name: 'GatewayCertificateExpires',
    severity: 'ticket',
    // Certificates are valid for an hour or for a year. A renewal is late if a fifth of the
    // original time is left, and never earlier than a week before the end.
    expr: [
      `min by (namespace, job, instance) (${remaining} < ${certificateExpirySeconds}`,
      `and ${remaining} < ${certificateRemainingShare} * max_over_time((${remaining})[30d:1h]))`,
      `or min by (namespace, job, instance) (${remaining} < 300)`,
    ].join(' '),
    for: '1m',
    summary: 'The certificate of {{ $labels.instance }} ({{ $labels.job }}) is about to expire',
    description:
      'It expires in {{ $value | humanizeDuration }}. After that, no other service connects to this process.',
    cases: [
      {
        title: 'fires when a certificate of a month was not renewed with a fifth of it left, and ends when it is',
        pace: '6h',
        // Thirty days, then thirty more.
        series: { [certificate('limiter')]: '2592000x99 5184000x9' },
        moments: [
          { at: '23d18h', firing: [] },
          { at: '24d18h', firing: [expires('limiter', '5d 6h 0m 0s')] },
          { at: '25d', firing: [] },
        ],
      },
      {
        title: 'fires a week before the end of a certificate of a year',
        pace: '6h',
        series: { [certificate('identity')]: `${35 * 86_400}x139` },
        moments: [
          { at: '27d', firing: [] },
          { at: '29d', firing: [expires('identity', '6d 0h 0m 0s')] },
        ],
      },
      {
        title: 'fires five minutes before the end of a certificate that was first seen recently',
        series: { [certificate('limiter')]: `${missing(50)} 3600x40` },
        moments: [
          { at: '55m', firing: [] },
          { at: '57m', firing: [expires('limiter', '3m 0s')] },
        ],
      },
      {
        title: 'is silent about certificates of an hour that are renewed in time',
        series: { [certificate('limiter')]: '3600x29 5400x29 7200x29 9000x29 10800x29' },
        moments: ['29m', '59m', '1h15m', '1h59m', '2h29m'].map((at) => ({ at, firing: [] })),
      },
    ],
  },
];

function noneOf(job: string) {
  return {
    labels: { job },
    summary: `No process of ${job} answers Prometheus`,
    description: `Either all processes of ${job} are down, and requests that need them fail; or Prometheus cannot reach them, and other alerts have no data.`,
  };
}

function certificate(job: string): string {
  return `gateway_certificate_not_after_timestamp_seconds{job="${job}",instance="${job}:9090"}`;
}

function expires(job: string, duration: string) {
  return {
    labels: { job, instance: `${job}:9090` },
    summary: `The certificate of ${job}:9090 (${job}) is about to expire`,
    description: `It expires in ${duration}. After that, no other service connects to this process.`,
  };
}
