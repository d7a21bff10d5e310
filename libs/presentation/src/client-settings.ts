import type { PoolOverview } from '@gateway/proto/admin/v1/pool_service_pb.js';
import { ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';

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
 * Settings for each client that some pool can serve.
 * @param address of the gateway as clients reach it, without a trailing slash.
 */
export function clientSettingsFor(
  address: string,
  { chat, small, messages, responses }: ClientModels,
): readonly ClientSettings[] {
  const rows: readonly Row[] = [
    ['curl', 'curl', '', chat, curl],
    ['openai-typescript', 'OpenAI SDK, TypeScript', 'hello.mts', chat, openaiTypescript],
    ['openai-python', 'OpenAI SDK, Python', 'hello.py', chat, openaiPython],
    ['anthropic-typescript', 'Anthropic SDK, TypeScript', 'hello.mts', messages, anthropicTypescript, withoutV1],
    ['anthropic-python', 'Anthropic SDK, Python', 'hello.py', messages, anthropicPython, withoutV1],
    ['ai-sdk', 'Vercel AI SDK', 'hello.mts', chat, aiSdk],
    ['claude-code', 'Claude Code', '', messages, claudeCode, claudeCodeNote],
    ['codex', 'Codex', '~/.codex/config.toml', responses, codex, codexNote],
    ['opencode', 'opencode', 'opencode.json', chat, (at, model) => opencode(at, model, small)],
  ];
  return rows.flatMap(([id, client, file, model, textWith, note = '']) =>
    model === undefined ? [] : [{ id, client, file, text: textWith(address, model).trim(), note }],
  );
}

type Row = readonly [
  id: string,
  client: string,
  file: string,
  /** Undefined: no pool can serve the client. */
  model: string | undefined,
  textWith: (address: string, model: string) => string,
  note?: string,
];

/** Models for the configuration of clients, one for each API of the gateway. */
export interface ClientModels {
  /** For chat completions. */
  readonly chat: string;
  /** For small tasks of agents, such as titles. */
  readonly small: string;
  /** Undefined: no pool offers this API. */
  readonly messages: string | undefined;
  readonly responses: string | undefined;
}

export function clientModelsOf({ pools, classes }: Pick<PoolOverview, 'pools' | 'classes'>): ClientModels {
  const formats = new Map(pools.map(({ pool }) => [pool?.name, pool?.format]));
  const formatOf = (candidate: string) => formats.get(poolOf(candidate));
  const speaks = (format: ProviderFormat) => (candidate: string) => formatOf(candidate) === format;
  const isMessages = speaks(ProviderFormat.MESSAGES);
  const messages =
    classes.find(({ candidates }) => candidates.every(isMessages)) ??
    classes.find(({ candidates }) => candidates.some(isMessages));
  const responses = classes.flatMap(({ candidates }) => candidates).find(speaks(ProviderFormat.RESPONSES));
  const chat = classes[0]?.id ?? 'gateway/sterk';
  return {
    chat,
    small: classes.find(({ effort }) => effort === 'low')?.id ?? chat,
    messages: messages?.id,
    responses: responses?.slice(poolOf(responses).length + 1),
  };
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
const claudeCodeNote =
  'With a class, Claude Code first requests features of the newest models, then retries without those that an older model rejects. To save these requests, name the older model. ' +
  '/context sends about 30 requests at once: give its token at least 120 requests per minute.';
const codexNote = 'Codex uses the Responses API, which takes model names of the pool, not classes.';

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
