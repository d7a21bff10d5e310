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
  description: 'Whether users get what they were promised, and where to look when they do not.',
  rows: [
    {
      title: 'Objectives over 30 days',
      panels: [
        objective('Availability', 'Requests that were not answered with 5xx. Promised: 99.9 %.', availability, [
          'GatewayAvailabilityBurnsFast',
          'GatewayAvailabilityBurnsSlow',
        ]),
        objective('First token within 5 s', 'Streamed answers that began in time. Promised: 95 %.', firstToken, [
          'GatewayFirstTokenBurnsFast',
          'GatewayFirstTokenBurnsSlow',
        ]),
        objective('Usage within 60 s', 'Usage that was in the ledger in time. Promised: 99.9 %.', usageDelivery, [
          'GatewayUsageDeliveryLate',
        ]),
        {
          kind: 'number',
          title: 'Alerts',
          description: 'Alerts of the gateway that are firing.',
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
          title: 'Error budget, speed of use',
          description:
            'How many times faster than allowed each budget of 30 days is used up, over an hour. 1 lasts exactly 30 days; 14.4 wakes somebody.',
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
          description: 'All endpoints. 499: the client left before the end.',
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
          title: 'Time to answer',
          description:
            'From the first byte of a request to the last of its answer; streams last as long as the model writes.',
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
          title: 'Under way',
          description: 'Requests and streams that are being answered: what a drain waits for.',
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
          title: 'Refusals',
          description: 'Requests that were answered with an error of the gateway, by code and limit.',
          unit: 'reqps',
          width: 12,
          targets: [{ expr: rate('gateway_refusals_total', ['code', 'limit']), legend: '{{code}} {{limit}}' }],
        },
        {
          kind: 'stacked',
          title: 'Failovers',
          description:
            'Further attempts after one that failed, by how it failed. Clients see nothing of them but time.',
          unit: 'none',
          width: 12,
          targets: [{ expr: increase('gateway_failovers_total', ['reason']), legend: '{{reason}}' }],
        },
      ],
    },
    {
      title: 'What it depends on',
      panels: [
        {
          kind: 'lines',
          title: 'Pools: what is left',
          description: 'Of the quotas of each pool on average.',
          unit: 'percentunit',
          width: 8,
          targets: [{ expr: gauge('max', 'gateway_pool_headroom_ratio', ['pool']), legend: '{{pool}}' }],
          thresholds: { warn: 0.2, bad: 0.05 },
          max: 1,
          alerts: ['GatewayPoolRunningDry', 'GatewayPoolExhausted'],
        },
        {
          kind: 'lines',
          title: 'Backends: processes that reach them',
          description: 'Share of the processes that use it and were answered when they last asked.',
          unit: 'percentunit',
          width: 8,
          targets: [{ expr: `avg by (backend) (gateway_backend_up{${chosen}})`, legend: '{{backend}}' }],
          thresholds: { warn: 1, bad: 0.5 },
          max: 1,
          alerts: ['GatewayDatabaseAway', 'GatewayRedisAway', 'GatewayNatsAway'],
        },
        {
          kind: 'lines',
          title: 'Usage on its way',
          description: 'Age of the oldest usage that an outbox holds, and that the stream holds.',
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
          description: 'Tokens of all models a second. Input includes what was read from and written to a cache.',
          unit: 'none',
          width: 12,
          targets: [{ expr: rate('gateway_tokens_total', ['gen_ai_token_type']), legend: '{{gen_ai_token_type}}' }],
        },
        {
          kind: 'lines',
          title: 'Processes that answer Prometheus',
          description: 'Of each service.',
          unit: 'none',
          width: 12,
          targets: [{ expr: gauge('sum', 'up', ['job'], `job=~"${jobs.join('|')}"`), legend: '{{job}}' }],
          alerts: ['GatewayTargetDown'],
        },
      ],
    },
  ],
};

/** The share that was good; red where the budget is used up. */
function objective(
  title: string,
  description: string,
  { bad, budget }: Objective,
  alerts: readonly string[],
): PanelDescription {
  return {
    kind: 'number',
    title,
    description: `${description} Over 30 days, or as long as Prometheus remembers.`,
    unit: 'percentunit',
    width: 6,
    targets: [{ expr: `1 - gateway:${bad}:ratio30d${inNamespace}`, legend: '{{namespace}}' }],
    thresholds: { warn: 1 - budget / 2, bad: 1 - budget },
    alerts,
  };
}
