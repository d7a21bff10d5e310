import { chosen, type DashboardDescription } from './dashboard.ts';
import { gauge, increase, rate } from './expressions.ts';

export const limitsAndTokens: DashboardDescription = {
  file: 'limits-and-tokens.json',
  uid: 'gateway-limits',
  title: 'Limits and tokens',
  description: 'Who is refused by which limit, whether limits are exact now, and how many tokens are used.',
  rows: [
    {
      title: 'Refusals',
      panels: [
        {
          kind: 'stacked',
          title: 'Refused by a limit',
          description:
            'Requests that got 429 for a limit of their token. `gatewayctl request list --status refused` says whose.',
          unit: 'reqps',
          width: 12,
          targets: [{ expr: rate('gateway_refusals_total', ['limit'], 'limit!="none"'), legend: '{{limit}}' }],
        },
        {
          kind: 'stacked',
          title: 'Refused for other reasons',
          description: 'By code, without those that a limit refused.',
          unit: 'reqps',
          width: 12,
          targets: [{ expr: rate('gateway_refusals_total', ['code'], 'limit="none"'), legend: '{{code}}' }],
        },
        {
          kind: 'stacked',
          title: 'Decisions of the limiter',
          description: 'Admitted, or the limit that refused.',
          unit: 'reqps',
          width: 12,
          targets: [{ expr: rate('gateway_limiter_decisions_total', ['decision']), legend: '{{decision}}' }],
        },
        {
          kind: 'stacked',
          title: 'Tokens that were looked up',
          description:
            'What presented tokens turned out to be. Many unknown ones: somebody guesses, or a client has an old token.',
          unit: 'reqps',
          width: 12,
          targets: [{ expr: rate('gateway_token_resolutions_total', ['result']), legend: '{{result}}' }],
        },
      ],
    },
    {
      title: 'Are limits exact now?',
      panels: [
        {
          kind: 'number',
          title: 'Redis is away',
          description: 'Limiters whose Redis does not answer.',
          unit: 'none',
          width: 6,
          targets: [{ expr: gauge('sum', 'gateway_limiter_store_away'), legend: 'limiters' }],
          thresholds: { warn: 1, bad: 2 },
          alerts: ['GatewayRedisAway', 'GatewayLimiterDegraded'],
        },
        {
          kind: 'number',
          title: 'Outages within a day',
          description: 'Times that Redis stopped answering a limiter.',
          unit: 'none',
          width: 6,
          targets: [{ expr: `sum(increase(gateway_limiter_store_outages_total{${chosen}}[1d]))`, legend: 'outages' }],
          thresholds: { warn: 1, bad: 10 },
          alerts: ['GatewayRedisAway'],
        },
        {
          kind: 'number',
          title: 'Counters put right within a day',
          description: 'Counters of the day in Redis that differed from the ledger.',
          unit: 'none',
          width: 6,
          targets: [
            { expr: `sum(increase(gateway_limiter_day_corrections_total{${chosen}}[1d]))`, legend: 'counters' },
          ],
          thresholds: { warn: 1, bad: 100 },
          alerts: ['GatewayLedgerAndRedisDiffer'],
        },
        {
          kind: 'number',
          title: 'Settles that wait',
          description: 'Usage that Redis is given when it answers again.',
          unit: 'none',
          width: 6,
          targets: [{ expr: gauge('sum', 'gateway_limiter_pending_settles'), legend: 'settles' }],
          thresholds: { warn: 1, bad: 10_000 },
          alerts: ['GatewayLimiterDegraded'],
        },
        {
          kind: 'lines',
          title: 'Decided by estimate',
          description:
            'Admissions by a share of the limit: in limiters without Redis, in edges without a limiter; and those that were handed over afterwards.',
          unit: 'reqps',
          width: 12,
          targets: [
            { expr: rate('gateway_limiter_degraded_total'), legend: 'limiters without Redis' },
            { expr: rate('gateway_edge_local_admissions_total'), legend: 'edges without a limiter' },
            { expr: rate('gateway_limiter_handed_over_admissions_total'), legend: 'handed over' },
          ],
          alerts: ['GatewayLimiterDegraded'],
        },
        {
          kind: 'lines',
          title: 'What did not work',
          description: 'Each line at 0 is the good state.',
          unit: 'none',
          width: 12,
          targets: [
            { expr: increase('gateway_limiter_dropped_settles_total'), legend: 'settles dropped' },
            { expr: increase('gateway_limiter_day_total_load_failures_total'), legend: 'day totals not loaded' },
            { expr: increase('gateway_limiter_admissions_not_kept_total'), legend: 'admissions not written' },
          ],
          alerts: ['GatewayLedgerAndRedisDiffer'],
        },
      ],
    },
    {
      title: 'Tokens',
      panels: [
        {
          kind: 'lines',
          title: 'Tokens a second',
          description: 'By kind. Input includes what was read from and written to a cache.',
          unit: 'none',
          width: 12,
          targets: [{ expr: rate('gateway_tokens_total', ['gen_ai_token_type']), legend: '{{gen_ai_token_type}}' }],
        },
        {
          kind: 'bars',
          title: 'Tokens within a day, by model',
          description: 'Input and output of the last 24 hours.',
          unit: 'short',
          width: 12,
          targets: [
            {
              expr: `sum by (gen_ai_request_model, gen_ai_token_type) (increase(gateway_tokens_total{${chosen},gen_ai_token_type=~"input|output"}[1d]))`,
              legend: '{{gen_ai_request_model}} {{gen_ai_token_type}}',
            },
          ],
        },
      ],
    },
  ],
};
