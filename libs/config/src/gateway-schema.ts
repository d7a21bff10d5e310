import { z } from 'zod';
import { alertsSchema } from './alerts-schema.ts';
import { managedSettingsSchema } from './managed-settings-schema.ts';
import { pricesSchema } from './prices-schema.ts';
import { Secret } from './secret.ts';
import { settingsSchema, toSettings } from './settings-schema.ts';
import { tokenUrl } from './token-url.ts';

/*
 * The schema of `gateway.yaml`, and the types that services use: keys become camelCase, defaults
 * are filled in and secrets are wrapped. References between parts, such as an account's pool, are
 * checked elsewhere.
 */

/** A string that is sent in a header or a form. */
const secretText = z
  .string()
  .min(1, 'must not be empty')
  .regex(/^[\x21-\x7e]*$/, 'must be visible ASCII without spaces');

/**
 * A refresh token. The provider's token endpoint exchanges it for short-lived access tokens.
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-6
 */
const oauthCredential = z
  .strictObject({
    token_url: tokenUrl.describe("The provider's token endpoint, such as https://auth.example.com/oauth/token"),
    client_id: secretText,
    client_secret: secretText.optional().describe('A reference. Absent: the client has none.'),
    refresh_token: secretText.describe(
      'A reference to the first refresh token. If the provider replaces it, the gateway stores the new one in the database.',
    ),
    scopes: z.array(secretText).default([]).describe('Absent: the scopes of the refresh token.'),
  })
  .transform(({ token_url, client_id, client_secret, refresh_token, scopes }) => ({
    kind: 'oauth' as const,
    tokenUrl: token_url,
    clientId: client_id,
    clientSecret: client_secret === undefined ? undefined : new Secret(client_secret),
    refreshToken: new Secret(refresh_token),
    scopes,
  }));

/**
 * The capabilities of a pool's models where they differ from the adapter's own tables. A trait that
 * is left out is not overridden.
 */
const modelTraits = z
  .strictObject({
    efforts: z
      .array(z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']))
      .refine((efforts) => new Set(efforts).size === efforts.length, 'must not contain an effort twice')
      .optional()
      .describe(
        'Reasoning efforts that the model supports; [] for none. In pools of format messages: low to max only.',
      ),
    thinking: z
      .enum(['none', 'budget', 'adaptive'])
      .optional()
      .describe('Format messages: how the model thinks: not at all, with a budget of tokens, or adaptively.'),
    thinking_by_default: flag('Format messages, adaptive thinking: whether the model thinks by default.'),
    thinking_least: z
      .enum(['disabled', 'between_tools', 'low_effort'])
      .optional()
      .describe('Format messages, adaptive thinking: what the gateway sends for the effort none.'),
    forced_tool_choice: flag('Format messages: whether tool_choice may force a tool call.'),
    structured_output: flag('Format messages: whether the model supports JSON schemas for answers, and strict tools.'),
    max_output_tokens: z
      .int()
      .min(1)
      .max(10_000_000)
      .optional()
      .describe('Format messages: the maximum number of tokens of an answer.'),
  })
  .transform((traits) => ({
    efforts: traits.efforts,
    thinking: traits.thinking,
    thinkingByDefault: traits.thinking_by_default,
    leastThinking: traits.thinking_least,
    forcedToolChoice: traits.forced_tool_choice,
    structuredOutput: traits.structured_output,
    maxOutputTokens: traits.max_output_tokens,
  }));

const name = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9._-]*$/, 'must begin with a letter and contain only letters, digits, ".", "_" and "-"');

const modelId = z.string().min(1, 'must not be empty');

const modelPatterns = z.array(modelId).min(1, 'must not be empty');

const httpUrl = z
  .string()
  .refine(
    (text) => /^https?:$/.test(URL.parse(text)?.protocol ?? ''),
    'must be a URL that starts with http:// or https://',
  );

/** The order in which the models of pools are listed. */
export const poolFormats = ['responses', 'messages'] as const;

const defaultModelPatterns = {
  responses: ['gpt-*', 'o1*', 'o3*', 'o4*', 'codex-*'],
  messages: ['claude-*'],
};

const pool = z
  .strictObject({
    format: z.enum(poolFormats).describe('The API of the provider: POST /responses or POST /messages.'),
    owned_by: z
      .string()
      .regex(/^[\x21-\x7e]+$/, 'must be visible ASCII without spaces: it is sent in a header')
      .describe("The provider's name for clients, in GET /v1/models and in the header x-gateway-provider."),
    base_url: httpUrl.describe('For example https://api.openai.com/v1'),
    simulated: z
      .boolean()
      .default(false)
      .describe('True if a simulator answers at base_url. The console then says that its answers are not real.'),
    model_patterns: modelPatterns
      .optional()
      .describe('Model ids, with * for any text, that belong to this pool while its model list is unknown.'),
    models: z
      .record(modelId, modelTraits)
      .prefault({})
      .describe(
        'What models support, by model id, with * for any text. If several entries match, the first one applies.',
      ),
  })
  .transform(({ format, owned_by, base_url, simulated, model_patterns, models }) => ({
    format,
    ownedBy: owned_by,
    baseUrl: base_url.replace(/(?<!\/)\/+$/, ''),
    simulated,
    modelPatterns: model_patterns ?? defaultModelPatterns[format],
    modelTraits: Object.entries(models).map(([pattern, traits]) => ({ pattern, traits })),
  }));

export const accountSchema = z
  .strictObject({
    pool: name.describe('The name of one of the pools.'),
    name: z
      .string()
      .regex(
        /^[A-Za-z0-9][A-Za-z0-9._@-]*$/,
        'must begin with a letter or a digit and contain only letters, digits, ".", "_", "@" and "-"',
      )
      .describe('Unique within its pool.'),
    credential: z
      .union(
        [
          z
            .strictObject({ bearer: secretText })
            .transform(({ bearer }) => ({ kind: 'bearer' as const, secret: new Secret(bearer) })),
          z
            .strictObject({ api_key: secretText })
            .transform(({ api_key }) => ({ kind: 'api_key' as const, secret: new Secret(api_key) })),
          z.strictObject({ oauth: oauthCredential }).transform(({ oauth }) => oauth),
        ],
        `must be { bearer: "\${NAME}" }, { api_key: "\${NAME}" } or { oauth: { … } }`,
      )
      .describe(
        `Secrets must be references: { bearer: "\${OPENAI_API_KEY}" }, { api_key: "\${ANTHROPIC_API_KEY}" } or { oauth: { token_url, client_id, refresh_token: "\${REFRESH_TOKEN}" } }.`,
      ),
    max_concurrency: z
      .int()
      .min(1)
      .max(100_000)
      .optional()
      .describe('The maximum number of concurrent requests. Absent: unlimited.'),
    models: modelPatterns
      .optional()
      .describe('Model ids, with * for any text, that this account may serve. Absent: all models of its pool.'),
    labels: z
      .array(z.string().regex(/^[\w.-]{1,50}$/, 'must be 1 to 50 letters, digits, "-", "_" and "."'))
      .max(20)
      .optional()
      .describe('Labels to which tokens and groups can be restricted.'),
    state: z
      .enum(['active', 'draining', 'disabled'])
      .default('active')
      .describe('draining: takes no new requests. disabled: is not used at all.'),
    drain: z.boolean().default(false).describe('Takes no new requests, like state: draining.'),
  })
  .transform(({ drain, max_concurrency: maxConcurrency, ...given }) => ({
    ...given,
    maxConcurrency,
    state: drain && given.state === 'active' ? ('draining' as const) : given.state,
  }));

const modelClass = z.strictObject({
  name: z.string().min(1, 'must not be empty').describe('Readable name in GET /v1/models.'),
  effort: z
    .enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'ultra'])
    .describe('Reasoning effort of requests without one.'),
  candidates: z
    .array(
      z
        .string()
        .regex(/^[^/]+\/.+$/, 'must have the form pool/model')
        .transform(toCandidate),
    )
    .min(1, 'must not be empty')
    .describe('Provider models as pool/model, in order of preference.'),
});

/** The schema of the file. */
export const gatewayFileSchema = z
  .strictObject({
    pools: z.record(name, pool).refine((pools) => Object.keys(pools).length > 0, 'must contain at least one pool'),
    accounts: z.array(accountSchema).prefault([]),
    classes: z.record(name, modelClass).prefault({}),
    prices: pricesSchema.optional(),
    alerts: alertsSchema.prefault([]),
    managed_settings: managedSettingsSchema.optional(),
    settings: settingsSchema.prefault({}),
  })
  .transform(({ pools, accounts, classes, prices, alerts, managed_settings, settings }) => ({
    // Keeps the order of the file, which is the order of the public listing.
    pools: Object.entries(pools).map(([name, pool]) => ({ name, ...pool })),
    accounts,
    // Keeps the order of the file. Clients send the id as `model`: "gateway/sterk".
    classes: Object.entries(classes).map(([name, modelClass]) => ({ id: `gateway/${name}`, ...modelClass })),
    prices,
    alerts,
    managedSettings: managed_settings ?? [],
    settings: toSettings(settings),
  }));

/** The file as a person writes it, without defaults. */
export type GatewayFileInput = z.input<typeof gatewayFileSchema>;

/** The JSON Schema of `gateway.yaml`, for editors. */
export function gatewayJsonSchema(): Readonly<Record<string, unknown>> {
  return { title: 'gateway.yaml', ...z.toJSONSchema(gatewayFileSchema, { io: 'input' }) };
}

function flag(text: string) {
  return z.boolean().optional().describe(text);
}

/** Only the first slash separates: a provider's model id may contain slashes. */
function toCandidate(text: string) {
  const slash = text.indexOf('/');
  return { pool: text.slice(0, slash), model: text.slice(slash + 1) };
}
