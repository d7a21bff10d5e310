import { availability, firstToken, type Objective, usageDelivery } from '../alerts/objectives.ts';
import { jobs } from '../alerts/processes.ts';
import { chosen, type DashboardDescription } from './dashboard.ts';
import { gauge, increase, quantile, rate } from './expressions.ts';
import type { PanelDescription } from './panels.ts';

const http = 'http_server_request_duration_seconds';
const endpoints = 'http_route!="other"';
const inNamespace = '{namespace=~"$namespace"}';

export const overview: DashboardDescription = {
  file: 'overview.json',
  uid: 'gateway-overview',
  title: 'Overview',
  description: 'Whether the objectives are met, and where to look if not.',
  rows: [
    {
      title: 'Objectives over 30 days',
      panels: [
        objective('Availability', 'Requests that did not get 5xx. Objective: 99.9 %.', availability, [
          'GatewayAvailabilityBurnsFast',
          'GatewayAvailabilityBurnsSlow',
        ]),
        objective('First token within 5 s', 'Streamed answers that began in time. Objective: 95 %.', firstToken, [
          'GatewayFirstTokenBurnsFast',
          'GatewayFirstTokenBurnsSlow',
        ]),
        objective('Usage within 60 s', 'Usage that reached the ledger in time. Objective: 99.9 %.', usageDelivery, [
          'GatewayUsageDeliveryLate',
        ]),
        {
          kind: 'number',
          title: 'Alerts',
          description: 'Firing alerts of the gateway.',
          unit: 'none',
          width: 6,
          targets: [
            {
              expr: 'count(ALERTS{alertname=~"Gateway.*",alertstate="firing"}) or vector(0)',
              legend: 'firing',
            },
          ],
          thresholds: { warn: 1, bad: 3 },
        },
        {
          kind: 'lines',
          title: 'Error budget burn rate',
          description:
            'How much faster than allowed each 30-day budget burns, over an hour. At 1 it lasts exactly 30 days; 14.4 pages.',
          unit: 'none',
          width: 24,
          targets: [availability, firstToken, usageDelivery].map(({ bad, budget }) => ({
            expr: `gateway:${bad}:ratio1h${inNamespace} / ${budget}`,
            legend: `${bad} {{namespace}}`,
          })),
          thresholds: { warn: 1, bad: 14.4 },
          alerts: ['GatewayAvailabilityBurnsFast', 'GatewayFirstTokenBurnsFast'],
        },
      ],
    },
    {
      title: 'Requests',
      panels: [
        {
          kind: 'stacked',
          title: 'Requests by status',
          description: 'All endpoints. 499: the client disconnected before the end.',
          unit: 'reqps',
          width: 12,
          targets: [
            {
              expr: rate(`${http}_count`, ['http_response_status_code'], endpoints),
              legend: '{{http_response_status_code}}',
            },
          ],
          alerts: ['GatewayAvailabilityBurnsFast'],
        },
        {
          kind: 'lines',
          title: 'Request duration',
          description:
            'From the first byte of a request to the last byte of its answer. Streams last as long as the model writes.',
          unit: 's',
          width: 12,
          targets: [0.5, 0.95, 0.99].map((share) => ({
            expr: quantile(share, http, [], endpoints),
            legend: `p${share * 100}`,
            hasExemplars: share === 0.95,
          })),
        },
        {
          kind: 'lines',
          title: 'Time to first token',
          description: 'Of streamed answers, as clients see it.',
          unit: 's',
          width: 12,
          targets: [0.5, 0.95, 0.99].map((share) => ({
            expr: quantile(share, 'gen_ai_server_time_to_first_token_seconds'),
            legend: `p${share * 100}`,
            hasExemplars: share === 0.95,
          })),
          thresholds: { warn: 2.5, bad: 5 },
          alerts: ['GatewayFirstTokenBurnsFast', 'GatewayFirstTokenBurnsSlow'],
        },
        {
          kind: 'lines',
          title: 'In flight',
          description: 'Requests and streams in flight: a drain waits for them.',
          unit: 'none',
          width: 12,
          targets: [
            { expr: gauge('sum', 'http_server_active_requests'), legend: 'requests' },
            { expr: gauge('sum', 'gateway_open_streams'), legend: 'streams to clients' },
            { expr: gauge('sum', 'gateway_upstream_open_streams'), legend: 'requests to providers' },
          ],
        },
        {
          kind: 'stacked',
          title: 'Errors by code',
          description: 'Requests that got an error from the gateway, by code and limit.',
          unit: 'reqps',
          width: 12,
          targets: [{ expr: rate('gateway_refusals_total', ['code', 'limit']), legend: '{{code}} {{limit}}' }],
        },
        {
          kind: 'stacked',
          title: 'Failovers',
          description: 'Attempts after a failed one, by its failure. Clients notice only the time.',
          unit: 'none',
          width: 12,
          targets: [{ expr: increase('gateway_failovers_total', ['reason']), legend: '{{reason}}' }],
        },
      ],
    },
    {
      title: 'Dependencies',
      panels: [
        {
          kind: 'lines',
          title: 'Pools: remaining quota',
          description: 'Mean over the quotas of each pool.',
          unit: 'percentunit',
          width: 8,
          targets: [{ expr: gauge('max', 'gateway_pool_headroom_ratio', ['pool']), legend: '{{pool}}' }],
          thresholds: { warn: 0.2, bad: 0.05 },
          max: 1,
          alerts: ['GatewayPoolRunningDry', 'GatewayPoolExhausted'],
        },
        {
          kind: 'lines',
          title: 'Backends: reachability',
          description: 'Share of its client processes whose last operation succeeded.',
          unit: 'percentunit',
          width: 8,
          targets: [{ expr: `avg by (backend) (gateway_backend_up{${chosen}})`, legend: '{{backend}}' }],
          thresholds: { warn: 1, bad: 0.5 },
          max: 1,
          alerts: ['GatewayDatabaseAway', 'GatewayRedisAway', 'GatewayNatsAway'],
        },
        {
          kind: 'lines',
          title: 'Usage not yet in the ledger',
          description: 'Age of the oldest usage in an outbox, and in the stream.',
          unit: 's',
          width: 8,
          targets: [
            { expr: gauge('max', 'gateway_edge_outbox_oldest_event_seconds'), legend: 'outboxes' },
            { expr: gauge('max', 'gateway_ledger_lag_seconds'), legend: 'stream' },
          ],
          thresholds: { warn: 60, bad: 300 },
          alerts: ['GatewayUsageDeliveryLate'],
        },
        {
          kind: 'lines',
          title: 'Tokens',
          description: 'Tokens of all models per second. Input includes cache reads and writes.',
          unit: 'none',
          width: 12,
          targets: [{ expr: rate('gateway_tokens_total', ['gen_ai_token_type']), legend: '{{gen_ai_token_type}}' }],
        },
        {
          kind: 'lines',
          title: 'Targets up',
          description: 'Processes of each service that answer Prometheus.',
          unit: 'none',
          width: 12,
          targets: [{ expr: gauge('sum', 'up', ['job'], `job=~"${jobs.join('|')}"`), legend: '{{job}}' }],
          alerts: ['GatewayTargetDown'],
        },
      ],
    },
  ],
};

/** The good share; red if the budget is used up. */
function objective(
  title: string,
  description: string,
  { bad, budget }: Objective,
  alerts: readonly string[],
): PanelDescription {
  return {
    kind: 'number',
    title,
    description: `${description} Over 30 days, or over the retention of Prometheus.`,
    unit: 'percentunit',
    width: 6,
    targets: [{ expr: `1 - gateway:${bad}:ratio30d${inNamespace}`, legend: '{{namespace}}' }],
    thresholds: { warn: 1 - budget / 2, bad: 1 - budget },
    alerts,
  };
}
