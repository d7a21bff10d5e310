import type { ListPoolsResponse, PoolStatus } from '@gateway/proto/admin/v1/pool_service_pb.js';
import { AccountState, ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';

/**
 * How to configure a client for the gateway. The token is in the variable GATEWAY_TOKEN and never
 * in the text.
 */
export interface ClientSettings {
  /** Its name on the command line. */
  readonly id: string;
  readonly client: string;
  /** The file that the text belongs in. Empty: it is entered in a shell. */
  readonly file: string;
  readonly text: string;
  /** What else to know. Empty: nothing. */
  readonly note: string;
}

/**
 * Settings for each client that some account can serve.
 * @param address of the gateway as clients reach it, without a trailing slash.
 */
export function clientSettingsFor(address: string, models: ClientModels): readonly ClientSettings[] {
  return clients.flatMap(([id, client, file, api, textWith, note = '']) => {
    const model = models[api];
    if (model === undefined) return [];
    return [{ id, client, file, text: textWith(address, model, models.small ?? model).trim(), note }];
  });
}

/** The API that a client uses. Undefined: there is no such client. */
export function apiOfClient(wanted: string): ClientApi | undefined {
  return clients.find(([id]) => id === wanted)?.[3];
}

export type ClientApi = Exclude<keyof ClientModels, 'small'>;

type Client = readonly [
  id: string,
  client: string,
  file: string,
  api: ClientApi,
  textWith: (address: string, model: string, small: string) => string,
  note?: string,
];

/** Models for the configuration of clients. Undefined: no account can serve any. */
export interface ClientModels {
  /** For chat completions. */
  readonly chat: string | undefined;
  /** For small tasks of agents, such as titles. */
  readonly small: string | undefined;
  /** For POST /v1/messages. */
  readonly messages: string | undefined;
  /** For POST /v1/responses, which takes no classes. */
  readonly responses: string | undefined;
}

/**
 * Models that accounts in service can serve: classes where there are some, otherwise models that
 * providers list.
 */
export function clientModelsOf({ overview, models }: Pick<ListPoolsResponse, 'overview' | 'models'>): ClientModels {
  const { pools = [], classes = [] } = overview ?? {};
  const inService = pools.filter(isInService);
  const formats = new Map(inService.map(({ pool }) => [pool?.name, pool?.format]));
  const owners = new Map(inService.map(({ pool }) => [pool?.ownedBy, pool?.format]));
  const speaks = (format: ProviderFormat) => (candidate: string) => formats.get(poolOf(candidate)) === format;
  const listed = (format?: ProviderFormat) =>
    models.find(({ ownedBy }) => owners.has(ownedBy) && (format === undefined || owners.get(ownedBy) === format))?.id;
  const served = classes.filter(({ candidates }) => candidates.some((candidate) => formats.has(poolOf(candidate))));
  const isMessages = speaks(ProviderFormat.MESSAGES);
  const messages =
    served.find(({ candidates }) => candidates.every(isMessages)) ??
    served.find(({ candidates }) => candidates.some(isMessages));
  const responses = served.flatMap(({ candidates }) => candidates).find(speaks(ProviderFormat.RESPONSES));
  const chat = served[0]?.id ?? listed();
  return {
    chat,
    small: served.find(({ effort }) => effort === 'low')?.id ?? chat,
    messages: messages?.id ?? listed(ProviderFormat.MESSAGES),
    responses: responses?.slice(poolOf(responses).length + 1) ?? listed(ProviderFormat.RESPONSES),
  };
}

function isInService({ accounts }: PoolStatus): boolean {
  return accounts.some(({ state }) => state !== AccountState.DISABLED && state !== AccountState.DRAINING);
}

/** The pool in "<pool>/<model>". */
function poolOf(candidate: string): string {
  return candidate.slice(0, Math.max(0, candidate.indexOf('/')));
}

/** The command that sets the variable from which all clients read the token. */
export function exportLine(tokenText: string): string {
  return `export GATEWAY_TOKEN='${tokenText}'`;
}

const withoutV1 = 'The base URL has no /v1: the SDK adds it.';
const newNode = 'It needs Node 22 or newer.';
const claudeCodeNote =
  'With a class, Claude Code first requests features of the newest models, then retries without those that an older model rejects. To save these requests, name the older model. ' +
  '/context sends about 30 requests at once: give its token at least 120 requests per minute.';
const codexNote = 'Codex uses the Responses API, which takes model names of the pool, not classes.';

/** In the order in which people read them. */
const clients: readonly Client[] = [
  ['curl', 'curl', '', 'chat', curl],
  ['openai-typescript', 'OpenAI SDK, TypeScript', 'hello.mjs', 'chat', openaiTypescript, newNode],
  ['openai-python', 'OpenAI SDK, Python', 'hello.py', 'chat', openaiPython],
  [
    'anthropic-typescript',
    'Anthropic SDK, TypeScript',
    'hello.mjs',
    'messages',
    anthropicTypescript,
    `${newNode} ${withoutV1}`,
  ],
  ['anthropic-python', 'Anthropic SDK, Python', 'hello.py', 'messages', anthropicPython, withoutV1],
  ['ai-sdk', 'Vercel AI SDK', 'hello.mjs', 'chat', aiSdk, newNode],
  ['claude-code', 'Claude Code', '', 'messages', claudeCode, claudeCodeNote],
  ['codex', 'Codex', '~/.codex/config.toml', 'responses', codex, codexNote],
  ['opencode', 'opencode', 'opencode.json', 'chat', opencode],
];

function curl(address: string, model: string): string {
  const body = { model, messages: [{ role: 'user', content: 'Hello' }], stream: true };
  return `
curl -N ${address}/v1/chat/completions \\
  -H "Authorization: Bearer $GATEWAY_TOKEN" \\
  -H 'Content-Type: application/json' \\
  -d '${JSON.stringify(body)}'`;
}

function openaiTypescript(address: string, model: string): string {
  return `
${importLine('OpenAI', 'openai')}

const client = new OpenAI({ baseURL: '${address}/v1', apiKey: process.env.GATEWAY_TOKEN });
const stream = await client.chat.completions.create({
  model: '${model}',
  messages: [{ role: 'user', content: 'Hello' }],
  stream: true,
});
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? '');`;
}

function openaiPython(address: string, model: string): string {
  return `
import os

from openai import OpenAI

client = OpenAI(base_url="${address}/v1", api_key=os.environ["GATEWAY_TOKEN"])
stream = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "Hello"}],
    stream=True,
)
for chunk in stream:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)`;
}

function anthropicTypescript(address: string, model: string): string {
  return `
${importLine('Anthropic', '@anthropic-ai/sdk')}

const client = new Anthropic({ baseURL: '${address}', apiKey: process.env.GATEWAY_TOKEN });
const stream = client.messages.stream({
  model: '${model}',
  max_tokens: 1024,
  messages: [{ role: 'user', content: 'Hello' }],
});
stream.on('text', (text) => process.stdout.write(text));
await stream.finalMessage();`;
}

function anthropicPython(address: string, model: string): string {
  return `
import os

from anthropic import Anthropic

client = Anthropic(base_url="${address}", api_key=os.environ["GATEWAY_TOKEN"])
with client.messages.stream(
    model="${model}",
    max_tokens=1024,
    messages=[{"role": "user", "content": "Hello"}],
) as stream:
    for text in stream.text_stream:
        print(text, end="", flush=True)`;
}

function aiSdk(address: string, model: string): string {
  return `
${importLine('{ createOpenAICompatible }', '@ai-sdk/openai-compatible')}
${importLine('{ streamText }', 'ai')}

const gateway = createOpenAICompatible({
  name: 'gateway',
  baseURL: '${address}/v1',
  apiKey: process.env.GATEWAY_TOKEN,
  includeUsage: true,
});
const { textStream } = streamText({ model: gateway('${model}'), prompt: 'Hello' });
for await (const text of textStream) process.stdout.write(text);`;
}

function claudeCode(address: string, model: string): string {
  return `
export ANTHROPIC_BASE_URL=${address}
export ANTHROPIC_AUTH_TOKEN="$GATEWAY_TOKEN"
claude --model ${model}`;
}

function codex(address: string, model: string): string {
  return `
model = "${model}"
model_provider = "gateway"

[model_providers.gateway]
name = "Gateway"
base_url = "${address}/v1"
env_key = "GATEWAY_TOKEN"
wire_api = "responses"`;
}

function opencode(address: string, model: string, small: string): string {
  const file = {
    $schema: 'https://opencode.ai/config.json',
    provider: {
      gateway: {
        npm: '@ai-sdk/openai-compatible',
        name: 'Gateway',
        options: { baseURL: `${address}/v1`, apiKey: '{env:GATEWAY_TOKEN}' },
        models: Object.fromEntries([model, small].map((id) => [id, {}])),
      },
    },
    model: `gateway/${model}`,
    small_model: `gateway/${small}`,
  };
  return JSON.stringify(file, null, 2);
}

/** Concatenated, so that no tool reads it as an import of this file. */
function importLine(what: string, from: string): string {
  return `import ${what} from '${from}';`;
}
