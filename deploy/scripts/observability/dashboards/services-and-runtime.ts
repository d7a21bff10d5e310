import { jobs } from '../alerts/processes.ts';
import { chosen, type DashboardDescription } from './dashboard.ts';
import { gauge, increase, quantile, rate } from './expressions.ts';

const status = 'rpc_response_status_code';

export const servicesAndRuntime: DashboardDescription = {
  file: 'services-and-runtime.json',
  uid: 'gateway-services',
  title: 'Services and runtime',
  description: 'The processes: calls between them, their stores, memory, CPU, event loop and certificates.',
  rows: [
    {
      title: 'Processes',
      panels: [
        {
          kind: 'lines',
          title: 'Targets up',
          description: 'Processes of each service that answer Prometheus.',
          unit: 'none',
          width: 8,
          targets: [{ expr: gauge('sum', 'up', ['job'], `job=~"${jobs.join('|')}"`), legend: '{{job}}' }],
          alerts: ['GatewayTargetDown'],
        },
        {
          kind: 'table',
          title: 'Builds',
          description: 'The running builds: two of them during an upgrade.',
          unit: 'none',
          width: 8,
          targets: [{ expr: `count by (job, version, revision) (gateway_build_info{${chosen}})`, legend: '' }],
        },
        {
          kind: 'lines',
          title: 'Starts and stops',
          description: 'Started processes, replaced workers, and draining processes.',
          unit: 'none',
          width: 8,
          targets: [
            {
              expr: `sum by (job) (changes(process_start_time_seconds{${chosen}}[$__rate_interval]))`,
              legend: 'starts of {{job}}',
            },
            { expr: increase('gateway_worker_losses_total'), legend: 'workers replaced' },
            { expr: gauge('sum', 'gateway_draining', ['job']), legend: '{{job}} draining' },
          ],
        },
        {
          kind: 'lines',
          title: 'Workers',
          description: 'Worker processes that serve, if there are any.',
          unit: 'none',
          width: 8,
          targets: [{ expr: gauge('sum', 'gateway_workers_serving', ['instance']), legend: '{{instance}}' }],
        },
        {
          kind: 'lines',
          title: 'Certificates expire in',
          description: 'With TLS: remaining lifetime of the certificate of each service.',
          unit: 's',
          width: 8,
          targets: [
            {
              expr: `${gauge('min', 'gateway_certificate_not_after_timestamp_seconds', ['job'])} - time()`,
              legend: '{{job}}',
            },
          ],
          thresholds: { warn: 604_800, bad: 86_400 },
          alerts: ['GatewayCertificateExpires'],
        },
        {
          kind: 'lines',
          title: 'Rejected callers',
          description:
            'Calls without a certificate that permits them. At admin ports: wrong host names, wrong tokens, foreign origins and insufficient roles.',
          unit: 'none',
          width: 8,
          targets: [
            { expr: increase('gateway_rpc_refusals_total', ['job', 'reason']), legend: '{{job}} {{reason}}' },
            { expr: increase('gateway_admin_refusals_total', ['job', 'reason']), legend: '{{job}} admin {{reason}}' },
          ],
        },
        {
          kind: 'lines',
          title: 'Sign-ins and sessions',
          description:
            "Sign-ins by result, browser sessions, refreshes of people's sessions, and missing groups of tokens.",
          unit: 'none',
          width: 8,
          targets: [
            { expr: increase('gateway_admin_sign_ins_total', ['method', 'result']), legend: '{{method}} {{result}}' },
            { expr: gauge('max', 'gateway_admin_open_sessions'), legend: 'sessions' },
            { expr: increase('gateway_session_refreshes_total', ['result']), legend: 'refresh {{result}}' },
            { expr: increase('gateway_person_lookups_total', ['result']), legend: 'lookup {{result}}' },
            { expr: gauge('max', 'gateway_admin_missing_people_groups'), legend: 'missing groups' },
          ],
          alerts: ['GatewayPeopleGroupMissing'],
        },
        {
          kind: 'lines',
          title: 'Warnings to receivers',
          description: 'Attempts to send warnings to the receivers in gateway.yaml, by result.',
          unit: 'none',
          width: 8,
          targets: [{ expr: increase('gateway_admin_alerts_total', ['result']), legend: '{{result}}' }],
        },
      ],
    },
    {
      title: 'Calls between services',
      panels: [
        {
          kind: 'stacked',
          title: 'Calls',
          description: 'By method. None in one process: there they are function calls.',
          unit: 'reqps',
          width: 8,
          targets: [{ expr: rate('rpc_server_call_duration_seconds_count', ['rpc_method']), legend: '{{rpc_method}}' }],
        },
        {
          kind: 'lines',
          title: 'Failed calls',
          description: 'As clients see them, by method and status.',
          unit: 'reqps',
          width: 8,
          targets: [
            {
              expr: rate('rpc_client_call_duration_seconds_count', ['rpc_method', status], `${status}!="OK"`),
              legend: `{{rpc_method}} {{${status}}}`,
            },
          ],
        },
        {
          kind: 'lines',
          title: 'Calls in flight',
          description: 'Calls in flight at the servers.',
          unit: 'none',
          width: 8,
          targets: [
            { expr: gauge('sum', 'gateway_rpc_server_calls_in_flight', ['rpc_method']), legend: '{{rpc_method}}' },
          ],
        },
        {
          kind: 'lines',
          title: 'Server duration (p95)',
          description: 'Response streams last as long as the model writes.',
          unit: 's',
          width: 12,
          targets: [
            { expr: quantile(0.95, 'rpc_server_call_duration_seconds', ['rpc_method']), legend: '{{rpc_method}}' },
          ],
        },
        {
          kind: 'lines',
          title: 'Client duration (p95)',
          description: 'The difference to the server duration is network and waiting time.',
          unit: 's',
          width: 12,
          targets: [
            { expr: quantile(0.95, 'rpc_client_call_duration_seconds', ['rpc_method']), legend: '{{rpc_method}}' },
          ],
        },
      ],
    },
    {
      title: 'Stores',
      panels: [
        {
          kind: 'lines',
          title: 'Unreachable stores',
          description: 'Processes that cannot reach a store. Should be 0.',
          unit: 'none',
          width: 8,
          targets: [{ expr: `sum by (backend) (1 - gateway_backend_up{${chosen}})`, legend: '{{backend}}' }],
          thresholds: { warn: 1, bad: 2 },
          alerts: ['GatewayDatabaseAway', 'GatewayRedisAway', 'GatewayNatsAway'],
        },
        {
          kind: 'lines',
          title: 'Database operations (p95)',
          description: 'By system and operation.',
          unit: 's',
          width: 8,
          targets: [
            {
              expr: quantile(0.95, 'db_client_operation_duration_seconds', ['db_system_name', 'db_operation_name']),
              legend: '{{db_system_name}} {{db_operation_name}}',
            },
          ],
          alerts: ['GatewayDatabaseAway', 'GatewayRedisAway'],
        },
        {
          kind: 'lines',
          title: 'Failed database operations',
          description: 'By system, operation and error.',
          unit: 'none',
          width: 8,
          targets: [
            {
              expr: increase(
                'db_client_operation_duration_seconds_count',
                ['db_system_name', 'db_operation_name', 'error_type'],
                'error_type!=""',
              ),
              legend: '{{db_system_name}} {{db_operation_name}} {{error_type}}',
            },
          ],
          alerts: ['GatewayDatabaseAway', 'GatewayRedisAway'],
        },
      ],
    },
    {
      title: 'Runtime',
      panels: [
        {
          kind: 'lines',
          title: 'Event loop delay (p99)',
          description: 'Everything else in the process waits this long.',
          unit: 's',
          width: 8,
          targets: [
            {
              expr: gauge('max', 'nodejs_eventloop_lag_p99_seconds', ['job', 'instance']),
              legend: '{{job}} {{instance}}',
            },
          ],
          thresholds: { warn: 0.1, bad: 0.25 },
          alerts: ['GatewayEventLoopBlocked'],
        },
        {
          kind: 'lines',
          title: 'Longest event loop delay',
          description: 'Since the previous scrape.',
          unit: 's',
          width: 8,
          targets: [{ expr: gauge('max', 'nodejs_eventloop_lag_max_seconds', ['job']), legend: '{{job}}' }],
          alerts: ['GatewayEventLoopBlocked'],
        },
        {
          kind: 'lines',
          title: 'CPU',
          description: 'Cores in use. A Node.js process uses a little more than one.',
          unit: 'none',
          width: 8,
          targets: [{ expr: rate('process_cpu_seconds_total', ['job', 'instance']), legend: '{{job}} {{instance}}' }],
          alerts: ['GatewayEventLoopBlocked'],
        },
        {
          kind: 'lines',
          title: 'Memory',
          description: 'Resident memory of each process.',
          unit: 'bytes',
          width: 8,
          targets: [
            {
              expr: gauge('sum', 'process_resident_memory_bytes', ['job', 'instance']),
              legend: '{{job}} {{instance}}',
            },
          ],
        },
        {
          kind: 'lines',
          title: 'Heap',
          description: 'Used heap, and external memory of objects.',
          unit: 'bytes',
          width: 8,
          targets: [
            { expr: gauge('sum', 'nodejs_heap_size_used_bytes', ['job']), legend: '{{job}} used' },
            { expr: gauge('sum', 'nodejs_heap_size_total_bytes', ['job']), legend: '{{job}} total' },
            { expr: gauge('sum', 'nodejs_external_memory_bytes', ['job']), legend: '{{job}} outside' },
          ],
        },
        {
          kind: 'lines',
          title: 'Garbage collection',
          description: 'Share of time in garbage collection, by kind.',
          unit: 'percentunit',
          width: 8,
          targets: [{ expr: rate('nodejs_gc_duration_seconds_sum', ['job', 'kind']), legend: '{{job}} {{kind}}' }],
          alerts: ['GatewayEventLoopBlocked'],
        },
        {
          kind: 'lines',
          title: 'Open files and sockets',
          description: 'Share of the limit of each process.',
          unit: 'percentunit',
          width: 8,
          targets: [
            {
              expr: `max by (job) (process_open_fds{${chosen}} / process_max_fds{${chosen}})`,
              legend: '{{job}}',
            },
          ],
          thresholds: { warn: 0.7, bad: 0.9 },
          max: 1,
        },
        {
          kind: 'lines',
          title: 'Body memory',
          description: 'Memory of request bodies and its limit, and uploads that wait for it.',
          unit: 'bytes',
          width: 8,
          targets: [
            { expr: gauge('sum', 'gateway_body_memory_bytes', ['instance']), legend: '{{instance}} held' },
            { expr: gauge('sum', 'gateway_body_memory_limit_bytes', ['instance']), legend: '{{instance}} limit' },
          ],
        },
        {
          kind: 'lines',
          title: 'Stalled clients and waiting uploads',
          description:
            'Uploads that wait for body memory, disconnected clients, and background failures that clients did not notice.',
          unit: 'none',
          width: 8,
          targets: [
            { expr: gauge('sum', 'gateway_body_waiting_uploads'), legend: 'waiting uploads' },
            { expr: increase('gateway_edge_stalled_clients_total'), legend: 'stalled clients' },
            { expr: increase('gateway_edge_attempt_reports_given_up_total'), legend: 'reports abandoned' },
            { expr: increase('gateway_edge_faults_total', ['part']), legend: 'fault: {{part}}' },
          ],
        },
        {
          kind: 'lines',
          title: 'Traces',
          description: 'Spans that the collector accepted, and dropped ones. Requests never wait for them.',
          unit: 'none',
          width: 24,
          targets: [
            { expr: increase('gateway_trace_spans_exported_total'), legend: 'exported' },
            { expr: increase('gateway_trace_spans_dropped_total', ['reason']), legend: 'dropped: {{reason}}' },
          ],
        },
      ],
    },
  ],
};
