import type { Alert, Firing } from './alert.ts';
import { counter, gauge } from './series.ts';

export const limitAlerts: readonly Alert[] = [
  {
    name: 'GatewayLimiterDegraded',
    severity: 'page',
    expr: [
      'sum by (namespace) (rate(gateway_edge_local_admissions_total[2m])) > 0',
      'or max by (namespace) (gateway_limiter_store_away) == 1',
    ].join(' '),
    for: '1m',
    keepFiringFor: '5m',
    summary: 'Limits are estimated: the limiter or its Redis does not answer',
    description:
      'Each edge admits its share of every limit, for at most LIMITER_LOCAL_MAX_SECONDS (300). After that, requests fail.',
    cases: [
      {
        title: 'fires when edges decide without the limiter, and ends five minutes after they last did',
        series: {
          'gateway_edge_local_admissions_total{instance="a"}': counter([0, 10], [30, 5], [0, 30]),
          'gateway_edge_local_admissions_total{instance="b"}': gauge([0, 45]),
        },
        moments: [
          { at: '11m', firing: [] },
          { at: '12m', firing: [{}] },
          { at: '20m', firing: [{}] },
          { at: '22m', firing: [] },
        ],
      },
      {
        title: 'fires when Redis is away without any requests',
        series: {
          'gateway_limiter_store_away{instance="a"}': gauge([0, 10], [1, 5], [0, 30]),
          'gateway_limiter_store_away{instance="b"}': gauge([0, 10], [1, 4], [0, 31]),
          'gateway_limiter_store_away{instance="c"}': gauge([0, 45]),
        },
        moments: [
          { at: '10m', firing: [] },
          { at: '11m', firing: [{}] },
          { at: '30m', firing: [] },
        ],
      },
      {
        title: 'is silent about what is over at once, and about counters of an earlier outage',
        series: {
          'gateway_limiter_store_away{instance="a"}': gauge([0, 10], [1, 1], [0, 30]),
          'gateway_edge_local_admissions_total{instance="a"}': gauge([17, 40]),
        },
        moments: ['9m', '10m', '11m', '12m', '30m'].map((at) => ({ at, firing: [] })),
      },
    ],
  },
  {
    name: 'GatewayLedgerAndRedisDiffer',
    severity: 'ticket',
    expr: 'sum by (namespace) (increase(gateway_limiter_day_corrections_total[1h])) > 0',
    summary: 'Day counters in Redis differed from the ledger',
    description:
      'In the last hour, {{ $value | humanize }} differences were corrected. Until then, tokens per day were too generous or too strict.',
    cases: [
      {
        title: 'fires when a counter was corrected, and ends an hour later',
        series: {
          'gateway_limiter_day_corrections_total{instance="a"}': counter([0, 60], [1, 1], [0, 90]),
          'gateway_limiter_day_corrections_total{instance="b"}': gauge([7, 150]),
        },
        moments: [
          { at: '60m', firing: [] },
          { at: '62m', firing: [{ description: differ('1') }] },
          { at: '1h55m', firing: [{ description: differ('1') }] },
          { at: '2h5m', firing: [] },
        ],
      },
      {
        title: 'is silent about old differences, and about a restarted limiter',
        series: { 'gateway_limiter_day_corrections_total{instance="a"}': gauge([3, 90], [0, 90]) },
        moments: [
          { at: '10m', firing: [] },
          { at: '92m', firing: [] },
        ],
      },
    ],
  },
  {
    name: 'GatewayTotalsMissing',
    severity: 'ticket',
    expr: 'sum by (namespace, continued) (increase(gateway_limiter_missing_totals_total[1h])) > 0',
    summary: 'Redis lost totals of limits while the ledger did not answer: {{ $labels.continued }}',
    description:
      'In the last hour, {{ $value | humanize }} requests found no total in Redis. last_known: limits continued from the highest known total. from_zero: tokens per day were too generous. refused: requests with a budget got 429.',
    cases: [
      {
        title: 'fires for each way to continue, and ends an hour later',
        series: {
          'gateway_limiter_missing_totals_total{instance="a",continued="last_known"}': gauge([0, 150]),
          'gateway_limiter_missing_totals_total{instance="a",continued="from_zero"}': counter([0, 60], [4, 1], [0, 90]),
          'gateway_limiter_missing_totals_total{instance="b",continued="refused"}': counter([0, 60], [2, 1], [0, 90]),
        },
        moments: [
          { at: '60m', firing: [] },
          { at: '1h30m', firing: [missingTotals('from_zero', '4'), missingTotals('refused', '2')] },
          { at: '2h5m', firing: [] },
        ],
      },
      {
        title: 'is silent about losses of an earlier hour, and about a restarted limiter',
        series: { 'gateway_limiter_missing_totals_total{instance="a",continued="refused"}': gauge([5, 90], [0, 90]) },
        moments: [
          { at: '10m', firing: [] },
          { at: '92m', firing: [] },
        ],
      },
    ],
  },
];

function missingTotals(continued: string, count: string): Firing {
  return {
    labels: { continued },
    summary: `Redis lost totals of limits while the ledger did not answer: ${continued}`,
    description: `In the last hour, ${count} requests found no total in Redis. last_known: limits continued from the highest known total. from_zero: tokens per day were too generous. refused: requests with a budget got 429.`,
  };
}

function differ(count: string): string {
  return `In the last hour, ${count} differences were corrected. Until then, tokens per day were too generous or too strict.`;
}
