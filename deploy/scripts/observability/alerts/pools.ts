import { alertThresholds } from '@gateway/telemetry/alert-thresholds';
import type { Alert } from './alert.ts';
import { counter, gauge, missing } from './series.ts';

/** Replicas of the broker report the same pools: one of them is enough. */
export const poolAlerts: readonly Alert[] = [
  {
    name: 'GatewayPoolRunningDry',
    severity: 'ticket',
    expr: `max by (namespace, pool) (gateway_pool_exhaustion_seconds) < ${alertThresholds.poolRunningDrySeconds}`,
    for: '10m',
    summary: 'The quotas of pool {{ $labels.pool }} will run out within the hour',
    description:
      'At the current rate, the quotas of all accounts of {{ $labels.pool }} run out in {{ $value | humanizeDuration }}. Then requests get 429.',
    cases: [
      {
        title: 'fires when two replicas see the end within the hour, and ends when the end moves away',
        series: {
          'gateway_pool_exhaustion_seconds{instance="a",pool="responses"}': gauge(
            [7_200, 10],
            [3_000, 20],
            [9_000, 20],
          ),
          'gateway_pool_exhaustion_seconds{instance="b",pool="responses"}': gauge(
            [7_200, 10],
            [3_010, 20],
            [9_000, 20],
          ),
          'gateway_pool_exhaustion_seconds{instance="a",pool="messages"}': gauge([3_600, 50]),
        },
        moments: [
          { at: '19m', firing: [] },
          { at: '20m', firing: [{ ...pool('responses'), ...runningDry('responses', '50m 10s') }] },
          { at: '30m', firing: [] },
        ],
      },
      {
        title: 'is silent while one replica alone sees the end, and about a forecast that comes and goes',
        series: {
          'gateway_pool_exhaustion_seconds{instance="a",pool="responses"}': gauge([600, 40]),
          'gateway_pool_exhaustion_seconds{instance="b",pool="responses"}': gauge([3_600, 40]),
          'gateway_pool_exhaustion_seconds{instance="a",pool="messages"}': gauge(
            [600, 10],
            [3_600, 1],
            [600, 9],
            [3_600, 20],
          ),
        },
        moments: ['9m', '10m', '15m', '20m', '39m'].map((at) => ({ at, firing: [] })),
      },
      {
        title: 'ends when no end is in sight any more',
        series: {
          'gateway_pool_exhaustion_seconds{pool="responses"}': `${gauge([600, 20])} stale`,
        },
        moments: [
          { at: '19m', firing: [{ ...pool('responses'), ...runningDry('responses', '10m 0s') }] },
          { at: '21m', firing: [] },
        ],
      },
    ],
  },
  {
    name: 'GatewayPoolExhausted',
    severity: 'page',
    expr: 'sum by (namespace, pool) (increase(gateway_pool_exhausted_total[5m])) >= 5',
    for: '5m',
    summary: 'Pool {{ $labels.pool }} has no account left for some requests',
    description:
      'In the last five minutes, {{ $value | humanize }} requests found no account of {{ $labels.pool }}. Without another candidate, clients get 429 or 503.',
    cases: [
      {
        title: 'fires when requests find no account for five minutes, and ends when they do',
        series: {
          'gateway_pool_exhausted_total{instance="a",pool="responses"}': counter([0, 10], [0.6, 20], [0, 20]),
          'gateway_pool_exhausted_total{instance="b",pool="responses"}': counter([0, 10], [0.5, 20], [0, 20]),
        },
        moments: [
          { at: '14m', firing: [] },
          { at: '20m', firing: [{ ...pool('responses'), ...exhausted('responses', '5.5') }] },
          { at: '40m', firing: [] },
        ],
      },
      {
        title: 'is silent about a burst, and about fewer than five in five minutes',
        series: {
          'gateway_pool_exhausted_total{pool="responses"}': counter([0, 10], [100, 1], [0, 20]),
          'gateway_pool_exhausted_total{pool="messages"}': counter([0.9, 60]),
        },
        moments: ['11m', '12m', '13m', '14m', '15m', '16m', '30m'].map((at) => ({ at, firing: [] })),
      },
    ],
  },
  {
    name: 'GatewayAccountDisabled',
    severity: 'ticket',
    // Accounts that operators disabled themselves need no attention.
    expr: 'max by (namespace, pool, account) (gateway_account_state{state="disabled",use!="disabled"}) == 1',
    for: '5m',
    summary: 'Account {{ $labels.pool }}/{{ $labels.account }} was taken out of service',
    description:
      'Account {{ $labels.account }} of pool {{ $labels.pool }} takes no requests until an operator intervenes. The other accounts of the pool carry its load.',
    cases: [
      {
        title: 'fires for each account that the gateway disabled, and ends when it is enabled',
        series: {
          'gateway_account_state{instance="a",pool="responses",account="team-a",state="disabled",use="active"}': gauge(
            [0, 5],
            [1, 15],
            [0, 10],
          ),
          'gateway_account_state{instance="b",pool="responses",account="team-a",state="disabled",use="active"}': gauge([
            0, 30,
          ]),
          'gateway_account_state{instance="a",pool="responses",account="team-a",state="available",use="active"}': gauge(
            [1, 5],
            [0, 15],
            [1, 10],
          ),
        },
        moments: [
          { at: '9m', firing: [] },
          {
            at: '10m',
            firing: [disabled('team-a')],
          },
          { at: '21m', firing: [] },
        ],
      },
      {
        title: 'is silent about what operators disabled, and ends when they disable what the gateway has',
        series: {
          'gateway_account_state{pool="responses",account="unwanted",state="disabled",use="disabled"}': gauge([1, 40]),
          'gateway_account_state{pool="responses",account="refused",state="disabled",use="active"}': `${missing(9)} 1x9 stale`,
          'gateway_account_state{pool="responses",account="refused",state="disabled",use="disabled"}': `${missing(19)} 1x19`,
        },
        moments: [
          { at: '9m', firing: [] },
          { at: '16m', firing: [disabled('refused')] },
          { at: '22m', firing: [] },
          { at: '39m', firing: [] },
        ],
      },
      {
        title: 'is silent about accounts that pause, drain, or are gone',
        series: {
          'gateway_account_state{pool="responses",account="team-a",state="cooling",use="active"}': gauge([1, 30]),
          'gateway_account_state{pool="responses",account="team-b",state="draining",use="draining"}': gauge([1, 30]),
          'gateway_account_state{pool="responses",account="team-c",state="disabled",use="active"}': `1x3 ${missing(26)}`,
        },
        moments: [
          { at: '10m', firing: [] },
          { at: '29m', firing: [] },
        ],
      },
    ],
  },
  {
    name: 'GatewayConfigurationRefused',
    severity: 'ticket',
    expr: 'count by (namespace) (gateway_configuration_last_reload_successful == 0)',
    for: '2m',
    summary: 'The changed gateway.yaml was refused',
    description: '{{ $value }} processes keep the previous configuration. A process that starts now fails to start.',
    cases: [
      {
        title: 'fires while brokers refuse the file, and ends when it is fixed',
        series: {
          'gateway_configuration_last_reload_successful{instance="a"}': gauge([1, 5], [0, 10], [1, 10]),
          'gateway_configuration_last_reload_successful{instance="b"}': gauge([1, 6], [0, 9], [1, 10]),
        },
        moments: [
          { at: '6m', firing: [] },
          {
            at: '8m',
            firing: [
              {
                description: '2 processes keep the previous configuration. A process that starts now fails to start.',
              },
            ],
          },
          { at: '15m', firing: [] },
        ],
      },
      {
        title: 'is silent about a file that is fixed within a minute',
        series: { 'gateway_configuration_last_reload_successful{instance="a"}': gauge([1, 5], [0, 2], [1, 10]) },
        moments: ['5m', '6m', '7m', '8m'].map((at) => ({ at, firing: [] })),
      },
    ],
  },
];

function pool(name: string) {
  return { labels: { pool: name } };
}

function runningDry(name: string, duration: string) {
  return {
    summary: `The quotas of pool ${name} will run out within the hour`,
    description: `At the current rate, the quotas of all accounts of ${name} run out in ${duration}. Then requests get 429.`,
  };
}

function disabled(account: string) {
  return {
    labels: { pool: 'responses', account },
    summary: `Account responses/${account} was taken out of service`,
    description: `Account ${account} of pool responses takes no requests until an operator intervenes. The other accounts of the pool carry its load.`,
  };
}

function exhausted(name: string, count: string) {
  return {
    summary: `Pool ${name} has no account left for some requests`,
    description: `In the last five minutes, ${count} requests found no account of ${name}. Without another candidate, clients get 429 or 503.`,
  };
}
