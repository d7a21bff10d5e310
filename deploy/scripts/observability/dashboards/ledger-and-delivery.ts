import { chosen, type DashboardDescription } from './dashboard.ts';
import { gauge, increase, quantile, rate } from './expressions.ts';

export const ledgerAndDelivery: DashboardDescription = {
  file: 'ledger-and-delivery.json',
  uid: 'gateway-ledger',
  title: 'Ledger and delivery',
  description: 'Where usage is between edge and ledger, how long delivery takes, and whether any was lost.',
  rows: [
    {
      title: 'In transit',
      panels: [
        {
          kind: 'lines',
          title: 'Usage delivery time',
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
          title: 'Oldest waiting usage',
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
          description: 'Usage and request log entries that the ledger has not confirmed, by edge.',
          unit: 'none',
          width: 8,
          targets: [{ expr: gauge('sum', 'gateway_edge_outbox_backlog_events', ['instance']), legend: '{{instance}}' }],
          alerts: ['GatewayOutboxOrphaned'],
        },
        {
          kind: 'lines',
          title: 'Outboxes on disk',
          description: 'Should stay below half of the free disk space.',
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
          description: 'Messages that are not delivered yet, and messages that are not acknowledged yet.',
          unit: 'none',
          width: 8,
          targets: [
            { expr: gauge('max', 'gateway_usage_backlog_messages'), legend: 'not delivered' },
            { expr: gauge('max', 'gateway_usage_ack_pending_messages'), legend: 'not acknowledged' },
          ],
          alerts: ['GatewayUsageDeliveryLate'],
        },
      ],
    },
    {
      title: 'Losses',
      panels: [
        {
          kind: 'lines',
          title: 'Outbox failures',
          description: 'All lines should be at 0.',
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
          title: 'Request records by result',
          description:
            'Repeated: delivered twice and counted once. Dead letters could not be recorded and are stored separately.',
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
          title: 'Batch write (p95)',
          description: 'One transaction in the ledger.',
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
          description: 'Publishing and acknowledging messages. Without fetching, which waits for messages.',
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
          title: 'Retried failures',
          description: 'Batches that could not be stored, failed partition changes, and failed NATS operations.',
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
          description: 'Entries that edges left out or the database rejected. Usage is not affected.',
          unit: 'none',
          width: 8,
          targets: [
            { expr: increase('gateway_edge_request_log_dropped_total', ['reason']), legend: 'left out: {{reason}}' },
            { expr: increase('gateway_usage_request_log_refused_total'), legend: 'rejected' },
          ],
        },
        {
          kind: 'lines',
          title: 'GET /v1/usage without all usage',
          description: 'Answers without all published usage: the ledger lags, or NATS does not answer.',
          unit: 'none',
          width: 8,
          targets: [{ expr: increase('gateway_usage_late_answers_total'), legend: 'answers' }],
          alerts: ['GatewayUsageDeliveryLate'],
        },
        {
          kind: 'number',
          title: 'Expired usage removed (24 h)',
          description: 'Expired days and their events.',
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
