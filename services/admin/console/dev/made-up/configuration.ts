import type { ServiceImpl } from '@connectrpc/connect';
import type { ConfigurationService } from '@gateway/proto/admin/v1/configuration_service_pb.js';

export const configurationService: Partial<ServiceImpl<typeof ConfigurationService>> = {
  getConfiguration: () => ({ file, settings }),
  checkConfiguration({ text }) {
    if (text.includes('team_z'))
      return {
        problems: [
          'accounts[4].pool: there is no pool "respones". Did you mean "responses"?',
          'classes.snel.candidates: give at least one "<pool>/<model>".',
        ],
      };
    return {
      changes: [
        '+ accounts: responses/team-e (bearer)',
        '- accounts: responses/team-d',
        '~ classes.snel.effort: low → none',
      ],
      newReferences: ['TEAM_E_API_KEY'],
    };
  },
};

const text = `pools:
  responses: { format: responses, owned_by: provider_a, base_url: "https://api.openai.com/v1" }
  messages:  { format: messages,  owned_by: provider_b, base_url: "https://api.anthropic.com/v1" }
accounts:
  - { pool: responses, name: team-a, credential: { bearer: "\${OPENAI_API_KEY}" } }
  - { pool: messages,  name: seat-01, credential: { api_key: "\${ANTHROPIC_API_KEY}" } }
classes:
  sterk:  { name: Sterk,  effort: high,   candidates: [responses/gpt-5.5, messages/claude-opus-4-8] }
  snel:   { name: Snel,   effort: low,    candidates: [responses/gpt-5.5-mini, messages/claude-haiku-4-5] }
  claude: { name: Claude, effort: medium, candidates: [messages/claude-sonnet-5] }
prices:
  currency: EUR
  models:
    - { model: "gpt-5.5*", input: 1.10, cached_input: 0.11, output: 8.80 }
`;

const file = {
  path: '/etc/gateway/gateway.yaml',
  text,
  loadedAtMs: Date.now() - 7_400_000,
  problems: ['accounts[2].credential.bearer: OPENAI_API_KEY_C is not set. Set it, or write another reference.'],
  classes: [
    {
      id: 'gateway/sterk',
      name: 'Sterk',
      effort: 'high',
      candidates: ['responses/gpt-5.5', 'messages/claude-opus-4-8'],
    },
    {
      id: 'gateway/snel',
      name: 'Snel',
      effort: 'low',
      candidates: ['responses/gpt-5.5-mini', 'messages/claude-haiku-4-5'],
    },
  ],
  prices: [
    { model: 'gpt-5.5*', inputMicros: 1_100_000, cachedInputMicros: 110_000, outputMicros: 8_800_000 },
    { model: 'claude-*', inputMicros: 2_750_000, cachedInputMicros: 275_000, outputMicros: 13_750_000 },
  ],
  currency: 'EUR',
};

const settings = [
  ['admin', 'ADMIN_PORT', '9090', 'default'],
  ['admin', 'SESSION_HOURS', '12', 'environment'],
  ['edge-router', 'BODY_MEMORY_MAX_MIB', '512', 'default'],
  ['edge-router', 'DRAIN_TIMEOUT_SECONDS', '600', 'environment'],
  ['edge-router', 'LOG_LEVEL', 'info', 'default'],
  ['edge-router', 'PORT', '8080', 'environment'],
  ['limiter', 'REDIS_URL', '(set)', 'file'],
  ['edge-router', 'TOKEN_CACHE_SECONDS', '30', 'default'],
  ['pool-broker', 'ACCOUNT_KEYS', '(set)', 'file'],
  ['pool-broker', 'DATABASE_URL', '(set)', 'file'],
  ['usage-query', 'USAGE_WAIT_MILLISECONDS', '1000', 'default'],
].map(([service = '', name = '', value = '', origin = '']) => ({ service, name, value, origin }));
