import { chosen, type DashboardDescription } from './dashboard.ts';
import { gauge, increase, rate } from './expressions.ts';

export const limitsAndTokens: DashboardDescription = {
  file: 'limits-and-tokens.json',
  uid: 'gateway-limits',
  title: 'Limits and tokens',
  description: 'Which limits reject requests, whether limits are exact, and how many tokens are used.',
  rows: [
    {
      title: 'Rejected requests',
      panels: [
        {
          kind: 'stacked',
          title: 'Rejected by a limit',
          description:
            'Requests that got 429 because of a limit of their token. `gatewayctl request list --status rejected` shows the tokens.',
          unit: 'reqps',
          width: 12,
          targets: [{ expr: rate('gateway_refusals_total', ['limit'], 'limit!="none"'), legend: '{{limit}}' }],
        },
        {
          kind: 'stacked',
          title: 'Rejected for other reasons',
          description: 'By code, without those that a limit rejected.',
          unit: 'reqps',
          width: 12,
          targets: [{ expr: rate('gateway_refusals_total', ['code'], 'limit="none"'), legend: '{{code}}' }],
        },
        {
          kind: 'stacked',
          title: 'Limiter decisions',
          description: 'Admitted, or the limit that rejected the request.',
          unit: 'reqps',
          width: 12,
          targets: [{ expr: rate('gateway_limiter_decisions_total', ['decision']), legend: '{{decision}}' }],
        },
        {
          kind: 'stacked',
          title: 'Token lookups',
          description: 'By result. Many unknown tokens: someone is guessing, or a client has an old token.',
          unit: 'reqps',
          width: 12,
          targets: [{ expr: rate('gateway_token_resolutions_total', ['result']), legend: '{{result}}' }],
        },
      ],
    },
    {
      title: 'Accuracy of limits',
      panels: [
        {
          kind: 'number',
          title: 'Redis unreachable',
          description: 'Limiters that cannot reach Redis.',
          unit: 'none',
          width: 8,
          targets: [{ expr: gauge('sum', 'gateway_limiter_store_away'), legend: 'limiters' }],
          thresholds: { warn: 1, bad: 2 },
          alerts: ['GatewayRedisAway', 'GatewayLimiterDegraded'],
        },
        {
          kind: 'number',
          title: 'Redis outages (24 h)',
          description: 'How often a limiter lost Redis.',
          unit: 'none',
          width: 8,
          targets: [{ expr: `sum(increase(gateway_limiter_store_outages_total{${chosen}}[1d]))`, legend: 'outages' }],
          thresholds: { warn: 1, bad: 10 },
          alerts: ['GatewayRedisAway'],
        },
        {
          kind: 'number',
          title: 'Corrected counters (24 h)',
          description: 'Day counters in Redis that differed from the ledger.',
          unit: 'none',
          width: 8,
          targets: [
            { expr: `sum(increase(gateway_limiter_day_corrections_total{${chosen}}[1d]))`, legend: 'counters' },
          ],
          thresholds: { warn: 1, bad: 100 },
          alerts: ['GatewayLedgerAndRedisDiffer'],
        },
        {
          kind: 'lines',
          title: 'Estimated decisions',
          description: 'Decisions of edges from a share of the limit, while the limiters or Redis are away.',
          unit: 'reqps',
          width: 12,
          targets: [{ expr: rate('gateway_edge_local_admissions_total'), legend: 'decisions' }],
          alerts: ['GatewayLimiterDegraded'],
        },
        {
          kind: 'lines',
          title: 'Failures',
          description: 'All lines should be at 0.',
          unit: 'none',
          width: 12,
          targets: [
            { expr: increase('gateway_limiter_day_total_load_failures_total'), legend: 'day totals not loaded' },
            { expr: increase('gateway_limiter_admissions_not_kept_total'), legend: 'admissions not stored' },
            {
              expr: increase('gateway_limiter_missing_totals_total', ['continued']),
              legend: 'lost totals: {{continued}}',
            },
          ],
          alerts: ['GatewayLedgerAndRedisDiffer', 'GatewayTotalsMissing'],
        },
      ],
    },
    {
      title: 'Tokens',
      panels: [
        {
          kind: 'lines',
          title: 'Tokens per second',
          description: 'By kind. Input includes cache reads and writes.',
          unit: 'none',
          width: 12,
          targets: [{ expr: rate('gateway_tokens_total', ['gen_ai_token_type']), legend: '{{gen_ai_token_type}}' }],
        },
        {
          kind: 'bars',
          title: 'Tokens by model (24 h)',
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
