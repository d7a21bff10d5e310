import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '@gateway/testkit';
import { OwnProcess } from '../processes/own-process.ts';
import { untilConnectable } from '../processes/until-connectable.ts';
import { anyTokens, type System } from './system.ts';

/**
 * The peer, `@portkey-ai/gateway`, with its defaults: no authentication, no limits, no usage.
 *
 * @param folder - its installation: its package folder, or one with it in `node_modules`
 */
export async function startPortkey(folder: string, providerPort: number): Promise<System> {
  const program = await findProgram(folder);
  const port = await freePort();
  const started = await OwnProcess.start(process.execPath, [program, '--headless', `--port=${port}`], {
    // It refuses hosts of private networks unless they are listed.
    env: { PATH: process.env.PATH, NODE_ENV: 'production', TRUSTED_CUSTOM_HOSTS: '127.0.0.1,localhost' },
  });
  try {
    await untilConnectable('@portkey-ai/gateway', port, started);
  } catch (thrown) {
    await started[Symbol.asyncDispose]();
    throw thrown;
  }
  return {
    name: 'portkey',
    port,
    processes: [{ name: 'portkey', pid: started.pid, part: 'gateway' }],
    tokens: anyTokens,
    inspectorPorts: new Map(),
    // It translates chat completions only to Messages, and forwards Responses.
    serves: ({ endpoint, format }) => endpoint !== 'chat' || format === 'messages',
    headersFor: ({ format }) => ({
      'x-portkey-provider': format === 'messages' ? 'anthropic' : 'openai',
      'x-portkey-custom-host': `http://127.0.0.1:${providerPort}/v1`,
    }),
    [Symbol.asyncDispose]: () => started[Symbol.asyncDispose](),
  };
}

async function findProgram(folder: string): Promise<string> {
  const candidates = ['build/start-server.js', 'node_modules/@portkey-ai/gateway/build/start-server.js'];
  for (const path of candidates.map((candidate) => join(folder, candidate))) {
    if (
      await access(path).then(
        () => true,
        () => false,
      )
    )
      return path;
  }
  throw new Error(`BENCH_PORTKEY: ${folder} holds no @portkey-ai/gateway (${candidates.join(', ')})`);
}
