import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Peer, Place } from './peer.ts';
import { startProgram } from './start-program.ts';

const readme = 'https://www.npmjs.com/package/@musistudio/claude-code-router/v/2.0.0';
const token = 'sk-of-a-client';

/** It speaks Messages with Claude Code, and chat completions with its providers. */
export const claudeCodeRouter: Peer = {
  name: 'claude-code-router',
  // The registry lacks two packages that 3.1.1 depends on.
  install: { package: '@musistudio/claude-code-router', version: '2.0.0' },
  claims: { messages: readme },
  levels: ['formats', 'operations'],
  setUp: [
    'Version 2.0.0: npm could not install 3.1.1, since the registry did not have `@the-next-ai/ai-gateway` and `@the-next-ai/bot-gateway-sdk`.',
    "`~/.claude-code-router/config.json` has an `APIKEY` and one provider. The provider's `api_base_url` is that of chat completions, as its documentation recommends, and its model is `Router.default`.",
    'The provider has the transformer `streamoptions`, which requests usage in streams.',
    'It counts tokens, but its documentation does not claim it.',
  ],
  startCommand: 'npx --package=@musistudio/claude-code-router@2.0.0 ccr start &',
  usualUrl: 'http://127.0.0.1:3456',
  keepsOtherwise: {
    'messages-refuses-unknown-model': 'by its documentation, unknown models go to `Router.default`',
  },
  async start(place) {
    await writeConfiguration(place);
    const started = await startProgram(place, {
      name: 'claude-code-router',
      path: '@musistudio/claude-code-router/dist/cli.js',
      parameters: ['start'],
    });
    return {
      targets: [{ url: `http://127.0.0.1:${place.port}`, token, models: { messages: 'double,gpt-5.5' } }],
      [Symbol.asyncDispose]: () => started[Symbol.asyncDispose](),
    };
  },
};

async function writeConfiguration({ home, port, providerPort }: Place): Promise<void> {
  const folder = join(home, '.claude-code-router');
  const provider = {
    name: 'double',
    api_base_url: `http://127.0.0.1:${providerPort}/v1/chat/completions`,
    api_key: 'sk-of-the-account',
    models: ['gpt-5.5'],
    transformer: { use: ['streamoptions'] },
  };
  const configuration = {
    PORT: port,
    HOST: '127.0.0.1',
    APIKEY: token,
    LOG: false,
    NON_INTERACTIVE_MODE: true,
    Providers: [provider],
    Router: { default: 'double,gpt-5.5' },
  };
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'config.json'), JSON.stringify(configuration));
}
