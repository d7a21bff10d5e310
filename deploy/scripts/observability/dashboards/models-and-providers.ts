import { chosen, type DashboardDescription } from './dashboard.ts';
import { gauge, increase, mean, quantile, rate } from './expressions.ts';

const model = 'gen_ai_request_model';
const provider = 'gen_ai_provider_name';
const ofModel = `${model}=~"$model"`;
/** Adapters also fetch model lists from providers. */
const chats = `${ofModel},gen_ai_operation_name="chat"`;
const firstToken = 'gen_ai_server_time_to_first_token_seconds';
const firstChunk = 'gen_ai_client_operation_time_to_first_chunk_seconds';

export const modelsAndProviders: DashboardDescription = {
  file: 'models-and-providers.json',
  uid: 'gateway-models',
  title: 'Models and providers',
  description: "Which models and providers are slow or fail, and the gateway's own share.",
  variables: [
    { name: 'model', label: 'Model', metric: 'gen_ai_server_request_duration_seconds_count', labelName: model },
  ],
  rows: [
    {
      title: 'First token',
      panels: [
        {
          kind: 'lines',
          title: 'Time to first token by model (p95)',
          description: 'As clients see it: waiting, account selection, failed attempts and the provider together.',
          unit: 's',
          width: 12,
          targets: [{ expr: quantile(0.95, firstToken, [model], ofModel), legend: `{{${model}}}`, hasExemplars: true }],
          thresholds: { warn: 2.5, bad: 5 },
          alerts: ['GatewayFirstTokenBurnsFast', 'GatewayFirstTokenBurnsSlow'],
        },
        {
          kind: 'lines',
          title: 'Provider time to first content (p95)',
          description: 'Of the answered attempt, by model. If this is long, the provider is slow.',
          unit: 's',
          width: 12,
          targets: [{ expr: quantile(0.95, firstChunk, [model], ofModel), legend: `{{${model}}}`, hasExemplars: true }],
          thresholds: { warn: 2.5, bad: 5 },
          alerts: ['GatewayFirstTokenBurnsFast'],
        },
        {
          kind: 'lines',
          title: 'Gateway overhead (mean)',
          description:
            'Time to first token at the client minus time to first content at the provider: queues, failed attempts, and the gateway itself.',
          unit: 's',
          width: 12,
          targets: [
            {
              expr: `${mean(firstToken, [model], ofModel)} - ${mean(firstChunk, [model], ofModel)}`,
              legend: `{{${model}}}`,
            },
          ],
          thresholds: { warn: 0.1, bad: 0.5 },
        },
        {
          kind: 'heatmap',
          title: 'Time to first token',
          description: 'Distribution of the time to first token of streamed answers.',
          unit: 's',
          width: 12,
          targets: [{ expr: increase(`${firstToken}_bucket`, ['le'], ofModel), legend: '{{le}}' }],
        },
      ],
    },
    {
      title: 'Complete answers',
      panels: [
        {
          kind: 'lines',
          title: 'Duration by model (p95)',
          description: 'From the first byte of a request to the last byte of its answer.',
          unit: 's',
          width: 12,
          targets: [
            {
              expr: quantile(0.95, 'gen_ai_server_request_duration_seconds', [model], ofModel),
              legend: `{{${model}}}`,
              hasExemplars: true,
            },
          ],
        },
        {
          kind: 'lines',
          title: 'Time per output token (p95)',
          description: 'How fast a model writes after its first token.',
          unit: 's',
          width: 12,
          targets: [
            {
              expr: quantile(0.95, 'gen_ai_server_time_per_output_token_seconds', [model], ofModel),
              legend: `{{${model}}}`,
            },
          ],
        },
        {
          kind: 'stacked',
          title: 'Requests by model',
          description: 'All client requests, with any result.',
          unit: 'reqps',
          width: 12,
          targets: [
            { expr: rate('gen_ai_server_request_duration_seconds_count', [model], ofModel), legend: `{{${model}}}` },
          ],
        },
        {
          kind: 'stacked',
          title: 'Failed requests by model and error',
          description: 'Requests that got an error or an incomplete answer.',
          unit: 'reqps',
          width: 12,
          targets: [
            {
              expr: rate(
                'gen_ai_server_request_duration_seconds_count',
                [model, 'error_type'],
                `${ofModel},error_type!=""`,
              ),
              legend: `{{${model}}} {{error_type}}`,
            },
          ],
          alerts: ['GatewayAvailabilityBurnsFast'],
        },
      ],
    },
    {
      title: 'Providers',
      panels: [
        {
          kind: 'lines',
          title: 'Attempts by provider (p95)',
          description: 'From sending a request to the end of its answer.',
          unit: 's',
          width: 8,
          targets: [
            {
              expr: quantile(0.95, 'gen_ai_client_operation_duration_seconds', [provider], chats),
              legend: `{{${provider}}}`,
            },
          ],
        },
        {
          kind: 'stacked',
          title: 'Failed attempts by provider and error',
          description: 'Clients do not notice most of them, because another attempt succeeds.',
          unit: 'reqps',
          width: 8,
          targets: [
            {
              expr: rate(
                'gen_ai_client_operation_duration_seconds_count',
                [provider, 'error_type'],
                `${chats},error_type!=""`,
              ),
              legend: `{{${provider}}} {{error_type}}`,
            },
          ],
        },
        {
          kind: 'stacked',
          title: 'Attempts by result',
          description: 'By provider format.',
          unit: 'reqps',
          width: 8,
          targets: [
            { expr: rate('gateway_upstream_attempts_total', ['format', 'result']), legend: '{{format}} {{result}}' },
          ],
        },
        {
          kind: 'lines',
          title: 'Time to response headers (p95)',
          description: 'From sending a request to the head of its answer, by format.',
          unit: 's',
          width: 8,
          targets: [{ expr: quantile(0.95, 'gateway_upstream_first_byte_seconds', ['format']), legend: '{{format}}' }],
        },
        {
          kind: 'lines',
          title: 'Requests to providers in flight',
          description: 'By format.',
          unit: 'none',
          width: 8,
          targets: [{ expr: gauge('sum', 'gateway_upstream_open_streams', ['format']), legend: '{{format}}' }],
        },
        {
          kind: 'lines',
          title: 'Unexpected provider answers',
          description:
            'Skipped events that this version does not know; requests resent without a rejected part; requests resent because an idle connection had closed.',
          unit: 'none',
          width: 8,
          targets: [
            {
              expr: increase('gateway_upstream_unknown_events_total', ['format']),
              legend: 'unknown events {{format}}',
            },
            {
              expr: increase('gateway_upstream_amended_requests_total', ['format', 'meaning']),
              legend: 'amended {{format}} {{meaning}}',
            },
            {
              expr: increase('gateway_upstream_resent_requests_total', ['format']),
              legend: 'resent {{format}}',
            },
          ],
        },
      ],
    },
    {
      title: 'Tokens',
      panels: [
        {
          kind: 'stacked',
          title: 'Tokens by model',
          description: 'Input, cached input and output per second.',
          unit: 'none',
          width: 8,
          targets: [
            {
              expr: rate(
                'gateway_tokens_total',
                [model, 'gen_ai_token_type'],
                `${ofModel},gen_ai_token_type=~"input|output"`,
              ),
              legend: `{{${model}}} {{gen_ai_token_type}}`,
            },
          ],
        },
        {
          kind: 'lines',
          title: 'Tokens per request (p50 and p95)',
          description: 'Length of conversations and answers.',
          unit: 'none',
          width: 8,
          targets: [0.5, 0.95].map((share) => ({
            expr: quantile(share, 'gen_ai_client_token_usage', ['gen_ai_token_type'], ofModel),
            legend: `p${share * 100} {{gen_ai_token_type}}`,
          })),
        },
        {
          kind: 'lines',
          title: 'Cached input',
          description:
            'Share of input tokens that the provider read from its cache. It falls when conversations move between accounts.',
          unit: 'percentunit',
          width: 8,
          targets: [
            {
              expr: `${rate('gateway_tokens_total', [model], `${ofModel},gen_ai_token_type="cache_read_input"`)} / sum by (${model}) (rate(gateway_tokens_total{${chosen},${ofModel},gen_ai_token_type="input"}[$__rate_interval]))`,
              legend: `{{${model}}}`,
            },
          ],
          max: 1,
        },
      ],
    },
  ],
};
