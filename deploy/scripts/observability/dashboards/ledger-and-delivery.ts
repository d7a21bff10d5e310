import { chosen, type DashboardDescription } from './dashboard.ts';
import { gauge, increase, quantile, rate } from './expressions.ts';

export const ledgerAndDelivery: DashboardDescription = {
  file: 'ledger-and-delivery.json',
  uid: 'gateway-ledger',
  title: 'Ledger and delivery',
  description: 'Where usage is on its way from the edge to the ledger, how long it takes, and whether any was lost.',
  rows: [
    {
      title: 'On its way',
      panels: [
        {
          kind: 'lines',
          title: 'From the end of a request to its row',
          description: 'Promised: 99.9 % within 60 s.',
          unit: 's',
          width: 12,
          targets: [0.5, 0.95, 0.999].map((share) => ({
            expr: quantile(share, 'gateway_usage_event_age_seconds'),
            legend: `p${share * 100}`,
          })),
          thresholds: { warn: 10, bad: 60 },
          alerts: ['GatewayUsageDeliveryLate'],
        },
        {
          kind: 'lines',
          title: 'Oldest usage that waits',
          description: 'In the outbox of each edge, and in the stream.',
          unit: 's',
          width: 12,
          targets: [
            {
              expr: gauge('max', 'gateway_edge_outbox_oldest_event_seconds', ['instance']),
              legend: 'outbox of {{instance}}',
            },
            { expr: gauge('max', 'gateway_ledger_lag_seconds'), legend: 'stream' },
          ],
          thresholds: { warn: 60, bad: 300 },
          alerts: ['GatewayUsageDeliveryLate', 'GatewayOutboxOrphaned'],
        },
        {
          kind: 'lines',
          title: 'Outboxes',
          description: 'Usage and entries of the request log that the ledger has not confirmed, by edge.',
          unit: 'none',
          width: 8,
          targets: [{ expr: gauge('sum', 'gateway_edge_outbox_backlog_events', ['instance']), legend: '{{instance}}' }],
          alerts: ['GatewayOutboxOrphaned'],
        },
        {
          kind: 'lines',
          title: 'Outboxes on disk',
          description: 'Must stay below half of the free disk.',
          unit: 'bytes',
          width: 8,
          targets: [
            { expr: gauge('max', 'gateway_edge_outbox_backlog_bytes', ['instance']), legend: '{{instance}}' },
            {
              expr: gauge('min', 'gateway_edge_outbox_disk_free_bytes', ['instance']),
              legend: 'free for {{instance}}',
            },
            { expr: gauge('min', 'gateway_edge_outbox_disk_size_bytes', ['instance']), legend: 'disk of {{instance}}' },
          ],
          alerts: ['GatewayUsageDeliveryLate'],
        },
        {
          kind: 'lines',
          title: 'Stream',
          description: 'Messages that were not delivered to an ingest yet, and those that it has not confirmed.',
          unit: 'none',
          width: 8,
          targets: [
            { expr: gauge('max', 'gateway_usage_backlog_messages'), legend: 'not delivered' },
            { expr: gauge('max', 'gateway_usage_ack_pending_messages'), legend: 'not confirmed' },
          ],
          alerts: ['GatewayUsageDeliveryLate'],
        },
      ],
    },
    {
      title: 'Is any lost?',
      panels: [
        {
          kind: 'lines',
          title: 'Outboxes that fail',
          description: 'Each line at 0 is the good state.',
          unit: 'none',
          width: 12,
          targets: [
            { expr: increase('gateway_edge_outbox_lost_events_total'), legend: 'lost' },
            { expr: increase('gateway_edge_outbox_damaged_total'), legend: 'damaged' },
            { expr: increase('gateway_edge_outbox_write_errors_total'), legend: 'not written' },
          ],
          alerts: ['GatewayUsageLost'],
        },
        {
          kind: 'lines',
          title: 'Usage that arrived',
          description:
            'Repeated: delivered twice and counted once. Dead letters could not be recorded and are kept aside.',
          unit: 'none',
          width: 12,
          targets: [{ expr: rate('gateway_usage_events_total', ['result']), legend: '{{result}} a second' }],
          alerts: ['GatewayUsageLost'],
        },
      ],
    },
    {
      title: 'Storing',
      panels: [
        {
          kind: 'lines',
          title: 'Storing a batch (p95)',
          description: 'One transaction of the ledger.',
          unit: 's',
          width: 8,
          targets: [
            {
              expr: quantile(0.95, 'messaging_process_duration_seconds', ['messaging_destination_name']),
              legend: '{{messaging_destination_name}}',
            },
          ],
          thresholds: { warn: 0.5, bad: 2.5 },
        },
        {
          kind: 'lines',
          title: 'NATS (p95)',
          description: 'Publishing and confirming messages. Fetching waits for messages, and says nothing of NATS.',
          unit: 's',
          width: 8,
          targets: [
            {
              expr: quantile(
                0.95,
                'messaging_client_operation_duration_seconds',
                ['messaging_operation_name'],
                'messaging_operation_name!="fetch"',
              ),
              legend: '{{messaging_operation_name}}',
            },
          ],
          thresholds: { warn: 0.1, bad: 0.3 },
          alerts: ['GatewayNatsAway'],
        },
        {
          kind: 'lines',
          title: 'What failed and is retried',
          description:
            'Batches that could not be stored, failures to make room for days, and operations of NATS that failed.',
          unit: 'none',
          width: 8,
          targets: [
            { expr: increase('gateway_usage_batch_failures_total'), legend: 'batches' },
            { expr: increase('gateway_usage_retention_failures_total'), legend: 'days' },
            {
              expr: increase(
                'messaging_client_operation_duration_seconds_count',
                ['messaging_operation_name'],
                'error_type!=""',
              ),
              legend: 'NATS {{messaging_operation_name}}',
            },
          ],
          alerts: ['GatewayDatabaseAway', 'GatewayNatsAway'],
        },
        {
          kind: 'lines',
          title: 'Request log',
          description: 'Entries that edges left out, and that the database did not take. Usage is not among them.',
          unit: 'none',
          width: 8,
          targets: [
            { expr: increase('gateway_edge_request_log_dropped_total', ['reason']), legend: 'left out: {{reason}}' },
            { expr: increase('gateway_usage_request_log_refused_total'), legend: 'not taken' },
          ],
        },
        {
          kind: 'lines',
          title: 'GET /v1/usage that did not wait',
          description: 'Answers without all that was published: the ledger lags, or NATS does not answer.',
          unit: 'none',
          width: 8,
          targets: [{ expr: increase('gateway_usage_late_answers_total'), legend: 'answers' }],
          alerts: ['GatewayUsageDeliveryLate'],
        },
        {
          kind: 'number',
          title: 'Removed within a day',
          description: 'Days, and their events, that are no longer kept.',
          unit: 'none',
          width: 8,
          targets: [
            { expr: `sum(increase(gateway_usage_days_removed_total{${chosen}}[1d]))`, legend: 'days' },
            { expr: `sum(increase(gateway_usage_events_removed_total{${chosen}}[1d]))`, legend: 'events' },
          ],
        },
      ],
    },
  ],
};
