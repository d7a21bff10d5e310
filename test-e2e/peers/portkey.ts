import type { Peer, Place } from './peer.ts';
import { startProgram } from './start-program.ts';

const docs = 'https://portkey.ai/docs';
const universalApi = `${docs}/product/ai-gateway/universal-api`;

/** It keeps no keys: each request names its provider in headers, and has that provider's key. */
export const portkey: Peer = {
  name: 'portkey',
  install: {
    package: '@portkey-ai/gateway',
    version: '1.15.2',
    overrides: { '@hono/node-server': '1.14.1' },
  },
  claims: {
    chat: universalApi,
    messages: universalApi,
    'count-tokens': `${docs}/integrations/llms/anthropic`,
    responses: universalApi,
    models: `${docs}/api-reference/inference-api/models/models`,
  },
  levels: ['formats', 'operations'],
  setUp: [
    'Requests select the provider with the headers `x-portkey-provider` and `x-portkey-custom-host`: `openai` for chat completions, Responses and models, `anthropic` for Messages.',
    'Checks that need two accounts send `x-portkey-config` with the strategy `fallback` and two targets.',
    'It is installed with `@hono/node-server` 1.14.1: with the later versions that npm selects, [every stream is answered with 500](https://github.com/Portkey-AI/gateway/issues/1389).',
  ],
  startCommand: [
    "npm init -y && npm pkg set 'overrides[@hono/node-server]=1.14.1' && npm install @portkey-ai/gateway@1.15.2",
    'npx gateway --port=8787 --headless &',
  ].join('\n'),
  usualUrl: 'http://127.0.0.1:8787',
  async start(place) {
    const started = await startProgram(place, {
      name: '@portkey-ai/gateway',
      path: '@portkey-ai/gateway/build/start-server.js',
      parameters: ['--headless', `--port=${place.port}`],
      // It refuses hosts of private networks unless they are listed.
      env: { NODE_ENV: 'production', TRUSTED_CUSTOM_HOSTS: '127.0.0.1,localhost' },
    });
    return { targets: targetsOf(place), [Symbol.asyncDispose]: () => started[Symbol.asyncDispose]() };
  },
};

function targetsOf({ port, providerPort }: Pick<Place, 'port' | 'providerPort'>) {
  const host = `http://127.0.0.1:${providerPort}/v1`;
  const common = { url: `http://127.0.0.1:${port}`, token: 'sk-of-a-client' };
  const openai = { chat: 'gpt-5.5', responses: 'gpt-5.5' };
  const anthropic = { messages: 'claude-sonnet-5' };
  const chosen = (provider: string) => ({ 'x-portkey-provider': provider, 'x-portkey-custom-host': host });
  const fallback = (provider: string) => {
    const targets = ['a', 'b'].map((letter) => ({ provider, custom_host: host, api_key: `sk-of-account-${letter}` }));
    return { 'x-portkey-config': JSON.stringify({ strategy: { mode: 'fallback' }, targets }) };
  };
  return [
    { ...common, headers: chosen('openai'), models: { ...openai, models: '' } },
    { ...common, headers: chosen('anthropic'), models: { ...anthropic, 'count-tokens': 'claude-sonnet-5' } },
    { ...common, headers: fallback('openai'), models: openai, hasSecondAccount: true },
    { ...common, headers: fallback('anthropic'), models: anthropic, hasSecondAccount: true },
  ];
}
