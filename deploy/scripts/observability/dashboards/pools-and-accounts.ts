import { chosen, type DashboardDescription } from './dashboard.ts';
import { gauge, increase, rate } from './expressions.ts';

const ofPool = 'pool=~"$pool"';

export const poolsAndAccounts: DashboardDescription = {
  file: 'pools-and-accounts.json',
  uid: 'gateway-pools',
  title: 'Pools and accounts',
  description: 'Which pools run short, which accounts are out of service, and when quotas run out.',
  variables: [{ name: 'pool', label: 'Pool', metric: 'gateway_pool_accounts', labelName: 'pool' }],
  rows: [
    {
      title: 'Pools',
      panels: [
        {
          kind: 'bars',
          title: 'Remaining quota',
          description: 'Mean over the quotas of each pool.',
          unit: 'percentunit',
          width: 8,
          targets: [{ expr: gauge('max', 'gateway_pool_headroom_ratio', ['pool'], ofPool), legend: '{{pool}}' }],
          thresholds: { warn: 0.2, bad: 0.05 },
          max: 1,
          alerts: ['GatewayPoolRunningDry'],
        },
        {
          kind: 'lines',
          title: 'Runs out in',
          description:
            'Time until the quotas of the pool run out at the current rate. No line: no forecast, or sustainable.',
          unit: 's',
          width: 8,
          targets: [{ expr: gauge('max', 'gateway_pool_exhaustion_seconds', ['pool'], ofPool), legend: '{{pool}}' }],
          thresholds: { warn: 14_400, bad: 3_600 },
          alerts: ['GatewayPoolRunningDry'],
        },
        {
          kind: 'lines',
          title: 'Requests without an account',
          description:
            'Requests for which the pool had no account left. They fail over to the next candidate, or are rejected.',
          unit: 'none',
          width: 8,
          targets: [{ expr: increase('gateway_pool_exhausted_total', ['pool'], ofPool), legend: '{{pool}}' }],
          thresholds: { warn: 1, bad: 5 },
          alerts: ['GatewayPoolExhausted'],
        },
        {
          kind: 'lines',
          title: 'Pool pauses',
          description:
            '1 while the pool, or one of its models, is paused because its provider fails. Pauses end automatically.',
          unit: 'none',
          width: 8,
          targets: [{ expr: gauge('max', 'gateway_pool_paused', ['pool'], ofPool), legend: '{{pool}}' }],
          max: 1,
          alerts: ['GatewayPoolExhausted'],
        },
        {
          kind: 'stacked',
          title: 'Accounts by state',
          description:
            'Cooling: unavailable after a limit or failures. Probing: one request tests whether it has recovered. Disabled: needs an operator.',
          unit: 'none',
          width: 8,
          targets: [
            { expr: gauge('max', 'gateway_pool_accounts', ['pool', 'state'], ofPool), legend: '{{pool}} {{state}}' },
          ],
          alerts: ['GatewayAccountDisabled'],
        },
        {
          kind: 'stacked',
          title: 'Attempts by result',
          description: 'Attempts at providers, by pool.',
          unit: 'reqps',
          width: 8,
          targets: [
            { expr: rate('gateway_pool_attempts_total', ['pool', 'result'], ofPool), legend: '{{pool}} {{result}}' },
          ],
        },
      ],
    },
    {
      title: 'Accounts',
      panels: [
        {
          kind: 'table',
          title: 'Account states',
          description: 'The state of each account. `gatewayctl pool status` shows why, and until when.',
          unit: 'none',
          width: 8,
          targets: [
            { expr: `${gauge('max', 'gateway_account_state', ['pool', 'account', 'state'], ofPool)} == 1`, legend: '' },
          ],
          alerts: ['GatewayAccountDisabled'],
        },
        {
          kind: 'lines',
          title: 'Remaining share of each quota',
          description: 'By account and provider window.',
          unit: 'percentunit',
          width: 8,
          targets: [
            {
              expr: gauge('max', 'gateway_account_headroom_ratio', ['pool', 'account', 'window'], ofPool),
              legend: '{{pool}}/{{account}} {{window}}',
            },
          ],
          thresholds: { warn: 0.2, bad: 0.05 },
          max: 1,
        },
        {
          kind: 'lines',
          title: 'Runs out in',
          description:
            'Time until the quotas of each account run out at the current rate. No line: no forecast, or sustainable.',
          unit: 's',
          width: 8,
          targets: [
            {
              expr: gauge('max', 'gateway_account_exhaustion_seconds', ['pool', 'account'], ofPool),
              legend: '{{pool}}/{{account}}',
            },
          ],
        },
        {
          kind: 'stacked',
          title: 'Requests in flight',
          description: 'By account. An account at max_concurrency takes no more requests.',
          unit: 'none',
          width: 12,
          targets: [
            {
              expr: gauge('max', 'gateway_account_in_flight', ['pool', 'account'], ofPool),
              legend: '{{pool}}/{{account}}',
            },
          ],
        },
        {
          kind: 'lines',
          title: 'Disabled after provider reports',
          description: 'Each step is an account that needs an operator.',
          unit: 'none',
          width: 12,
          targets: [
            {
              expr: increase('gateway_pool_accounts_disabled_total', ['pool', 'problem'], ofPool),
              legend: '{{pool}} {{problem}}',
            },
          ],
          alerts: ['GatewayAccountDisabled'],
        },
      ],
    },
    {
      title: 'Pool broker',
      panels: [
        {
          kind: 'stacked',
          title: 'Account selection results',
          description:
            'exhausted: all accounts are rate limited, clients get 429. unavailable: no account is available, clients get 503.',
          unit: 'reqps',
          width: 8,
          targets: [{ expr: rate('gateway_pool_acquires_total', ['result']), legend: '{{result}}' }],
          alerts: ['GatewayPoolExhausted'],
        },
        {
          kind: 'lines',
          title: 'Retries not made',
          description: 'The request had too many retries, or the retry budget was spent.',
          unit: 'none',
          width: 8,
          targets: [{ expr: increase('gateway_pool_retries_refused_total', ['reason']), legend: '{{reason}}' }],
        },
        {
          kind: 'lines',
          title: 'Access token refreshes',
          description: 'By result; and tokens that could not be stored or decrypted. failed and revoked should be 0.',
          unit: 'none',
          width: 8,
          targets: [
            {
              expr: increase('gateway_account_token_refreshes_total', ['pool', 'result'], ofPool),
              legend: '{{pool}} {{result}}',
            },
            {
              expr: increase('gateway_account_tokens_not_persisted_total', ['pool'], ofPool),
              legend: '{{pool}} not stored',
            },
            {
              expr: increase('gateway_account_tokens_unreadable_total', ['pool'], ofPool),
              legend: '{{pool}} unreadable',
            },
          ],
        },
        {
          kind: 'number',
          title: 'Configuration up to date',
          description: '0: gateway.yaml was changed, and a broker refused it.',
          unit: 'none',
          width: 6,
          targets: [{ expr: gauge('min', 'gateway_configuration_last_reload_successful'), legend: 'current' }],
          thresholds: { warn: 1, bad: 0.5 },
          alerts: ['GatewayConfigurationRefused'],
        },
        {
          kind: 'number',
          title: 'Configuration loaded',
          description: 'When the last broker loaded the configuration in use.',
          unit: 'dateTimeFromNow',
          width: 6,
          targets: [
            {
              expr: `${gauge('min', 'gateway_configuration_last_success_timestamp_seconds')} * 1000`,
              legend: 'oldest',
            },
          ],
        },
        {
          kind: 'number',
          title: 'Configuration reloads (24 h)',
          description: 'Reloads of gateway.yaml, by result.',
          unit: 'none',
          width: 6,
          targets: [
            {
              expr: `sum by (result) (increase(gateway_configuration_reloads_total{${chosen}}[1d]))`,
              legend: '{{result}}',
            },
          ],
          alerts: ['GatewayConfigurationRefused'],
        },
        {
          kind: 'number',
          title: 'Unused accounts in the database',
          description: 'By reason. `gatewayctl account list` shows them.',
          unit: 'none',
          width: 6,
          targets: [
            { expr: `${gauge('max', 'gateway_accounts_refused', ['reason'])} or vector(0)`, legend: '{{reason}}' },
          ],
          thresholds: { warn: 1, bad: 5 },
        },
        {
          kind: 'lines',
          title: 'Broker without Redis',
          description: 'How often a broker used its own memory for a second.',
          unit: 'none',
          width: 24,
          targets: [{ expr: increase('gateway_pool_store_fallbacks_total', ['instance']), legend: '{{instance}}' }],
          alerts: ['GatewayRedisAway'],
        },
      ],
    },
  ],
};
