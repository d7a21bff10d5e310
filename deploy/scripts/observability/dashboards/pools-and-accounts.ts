import { chosen, type DashboardDescription } from './dashboard.ts';
import { gauge, increase, rate } from './expressions.ts';

const ofPool = 'pool=~"$pool"';

export const poolsAndAccounts: DashboardDescription = {
  file: 'pools-and-accounts.json',
  uid: 'gateway-pools',
  title: 'Pools and accounts',
  description: 'Which pool runs short, which account is out of service, and for how long it lasts.',
  variables: [{ name: 'pool', label: 'Pool', metric: 'gateway_pool_accounts', labelName: 'pool' }],
  rows: [
    {
      title: 'Pools',
      panels: [
        {
          kind: 'bars',
          title: 'What is left',
          description: 'Of the quotas of each pool on average.',
          unit: 'percentunit',
          width: 8,
          targets: [{ expr: gauge('max', 'gateway_pool_headroom_ratio', ['pool'], ofPool), legend: '{{pool}}' }],
          thresholds: { warn: 0.2, bad: 0.05 },
          max: 1,
          alerts: ['GatewayPoolRunningDry'],
        },
        {
          kind: 'lines',
          title: 'Used up in',
          description: 'Time until the pool is used up at the speed of now. No line: no end is in sight.',
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
            'Requests for which no account of the pool was left. They go to the next candidate, or are refused.',
          unit: 'none',
          width: 8,
          targets: [{ expr: increase('gateway_pool_exhausted_total', ['pool'], ofPool), legend: '{{pool}}' }],
          thresholds: { warn: 1, bad: 5 },
          alerts: ['GatewayPoolExhausted'],
        },
        {
          kind: 'lines',
          title: 'Pauses of whole pools',
          description:
            '1 while the pool, or a model of it, takes nothing because its provider has trouble. It ends by itself.',
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
            'Cooling: pauses after a limit or failures. Probing: one request finds out. Disabled: needs a person.',
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
          description: 'How attempts at providers ended, by pool.',
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
          title: 'States',
          description: 'The state of each account. `gatewayctl pool status` says why, and until when.',
          unit: 'none',
          width: 8,
          targets: [
            { expr: `${gauge('max', 'gateway_account_state', ['pool', 'account', 'state'], ofPool)} == 1`, legend: '' },
          ],
          alerts: ['GatewayAccountDisabled'],
        },
        {
          kind: 'lines',
          title: 'What is left of each quota',
          description: 'By account and window of the provider.',
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
          title: 'Used up in',
          description: 'Time until each account is used up at the speed of now. No line: no end is in sight.',
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
          title: 'Requests under way',
          description: 'With each account. One that has as many as max_concurrency takes no more.',
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
          title: 'Taken out of service by providers',
          description: 'Each step is an account that needs a person.',
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
      title: 'The broker',
      panels: [
        {
          kind: 'stacked',
          title: 'Answers to requests for an account',
          description: 'exhausted: all are limited, clients get 429. unavailable: none can be used, clients get 503.',
          unit: 'reqps',
          width: 8,
          targets: [{ expr: rate('gateway_pool_acquires_total', ['result']), legend: '{{result}}' }],
          alerts: ['GatewayPoolExhausted'],
        },
        {
          kind: 'lines',
          title: 'Attempts that were not made',
          description: 'Because a request had too many, or because of the retry budget.',
          unit: 'none',
          width: 8,
          targets: [{ expr: increase('gateway_pool_retries_refused_total', ['reason']), legend: '{{reason}}' }],
        },
        {
          kind: 'lines',
          title: 'Access tokens',
          description:
            'Renewals of access tokens by result; tokens that could not be stored or decrypted. failed and revoked should stay at 0.',
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
          title: 'Configuration is current',
          description: '0: gateway.yaml was changed and is refused by a broker.',
          unit: 'none',
          width: 6,
          targets: [{ expr: gauge('min', 'gateway_configuration_last_reload_successful'), legend: 'current' }],
          thresholds: { warn: 1, bad: 0.5 },
          alerts: ['GatewayConfigurationRefused'],
        },
        {
          kind: 'number',
          title: 'Configuration taken over',
          description: 'When the configuration in use was taken over, by the broker that was last.',
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
          title: 'Configurations refused',
          description: 'Times gateway.yaml was read again within a day, by result.',
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
          title: 'Accounts in the database that are not used',
          description: 'By reason. `gatewayctl account list` says which.',
          unit: 'none',
          width: 6,
          targets: [
            { expr: `${gauge('max', 'gateway_accounts_refused', ['reason'])} or vector(0)`, legend: '{{reason}}' },
          ],
          thresholds: { warn: 1, bad: 5 },
        },
        {
          kind: 'lines',
          title: 'Without Redis',
          description: 'Times that a broker went by what it remembers itself, for a second.',
          unit: 'none',
          width: 24,
          targets: [{ expr: increase('gateway_pool_store_fallbacks_total', ['instance']), legend: '{{instance}}' }],
          alerts: ['GatewayRedisAway'],
        },
      ],
    },
  ],
};
