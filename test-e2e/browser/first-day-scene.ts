import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSimulator } from '@gateway/simulator';
import { freePorts } from '@gateway/testkit';
import { expect } from 'vitest';
import { type FinishedCommand, gatewayctl, startNpmScript } from '../topologies/gateway-process.ts';
import type { RecordedWalk } from './recorded-walk.ts';

/** The machine of an operator on the first day. */
export interface FirstDayScene extends AsyncDisposable {
  /** The address that refuses connections: "127.0.0.1:45678". */
  readonly deadAddress: string;
  /** A file with a key that the first provider accepts. */
  readonly rightKeyFile: string;
  /** The parts of all keys that no output and no page may contain. */
  readonly secrets: readonly string[];
  /** Runs `npm start`, and resolves when it has printed its welcome. */
  start(): Promise<Welcome>;
  /** Corrects the address of the second provider in gateway.yaml. */
  correctAddress(): Promise<void>;
}

/** What `npm start` prints for the operator. */
export interface Welcome {
  readonly text: string;
  /** Everything that the process has printed so far. */
  readonly output: () => string;
  readonly baseUrl: string;
  readonly consoleUrl: string;
  /** The token to sign in to the console with, from the file that the welcome names. */
  readonly operatorToken: string;
  /** The first token for clients. */
  readonly clientToken: string;
  /** Runs a command in another terminal, with only the settings that the welcome names. */
  readonly ctl: (...args: readonly string[]) => Promise<FinishedCommand>;
}

/**
 * An empty machine with a `gateway.yaml`, and with the keys of two providers in the environment.
 * The first provider rejects the key, and repeats it in its error. The second one has an address
 * that refuses connections.
 */
export async function openFirstDay(walk: RecordedWalk): Promise<FirstDayScene> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'gateway-first-day-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const provider = stack.use(await startSimulator());
  const [port, adminPort, deadPort] = await freePorts(3);
  const [wrongKey, rightKey, secondKey] = [keyLike('sk-proj-'), keyLike('sk-proj-'), keyLike('sk-ant-api03-')];
  for (const path of ['/v1/responses', '/v1/models'] as const) {
    const error = { message: `Incorrect API key provided: ${wrongKey}.`, code: 'invalid_api_key' };
    provider.faults.add({ account: wrongKey, path, fault: { kind: 'status', status: 401, body: { error } } });
  }
  const deadAddress = `127.0.0.1:${deadPort}`;
  const config = join(folder, 'gateway.yaml');
  await writeFile(config, gatewayFile(provider.url, `http://${deadAddress}`));
  const rightKeyFile = join(folder, 'new-key');
  await writeFile(rightKeyFile, `${rightKey}\n`, { mode: 0o600 });
  const env = {
    PORT: String(port),
    ADMIN_PORT: String(adminPort),
    GATEWAY_DATA: join(folder, 'data'),
    GATEWAY_CONFIG: config,
    OPENAI_API_KEY: wrongKey,
    ANTHROPIC_API_KEY: secondKey,
  };
  const opened = stack.move();
  return {
    deadAddress,
    rightKeyFile,
    secrets: [wrongKey, rightKey, secondKey].map((secret) => secret.slice(-20)),
    async start() {
      const command = opened.use(startNpmScript('start', env));
      const hasEnded = command.ended.then(({ stderr }) => expect.fail(`npm start has ended: ${stderr}`));
      await Promise.race([hasEnded, expect.poll(() => command.stdout()).toContain('Ctrl-C')]);
      const output = () => command.stdout() + command.stderr();
      return await readWelcome(walk.read('the welcome', command.stdout()), output, walk);
    },
    correctAddress: () => writeFile(config, gatewayFile(provider.url, provider.url)),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

function keyLike(prefix: string): string {
  return prefix + randomBytes(48).toString('base64url');
}

/** The example of the docs, with other addresses. */
function gatewayFile(firstUrl: string, secondUrl: string): string {
  return `pools:
  responses: { format: responses, owned_by: provider_a, base_url: "${firstUrl}/v1" }
  messages: { format: messages, owned_by: provider_b, base_url: "${secondUrl}/v1" }
accounts:
  - { pool: responses, name: team-a, credential: { bearer: "\${OPENAI_API_KEY}" } }
  - { pool: messages, name: team-a, credential: { api_key: "\${ANTHROPIC_API_KEY}" } }
classes:
  sterk: { name: Sterk, effort: high, candidates: [responses/gpt-5.5, messages/claude-opus-4-8] }
`;
}

async function readWelcome(text: string, output: () => string, walk: RecordedWalk): Promise<Welcome> {
  const [, consoleUrl = '', tokenFile = ''] = /Console +(\S+) +sign in with the token in (\S+)/.exec(text) ?? [];
  const [, exported = ''] = /In another terminal +export (.+)/.exec(text) ?? [];
  const settings = Object.fromEntries(exported.split(' ').map((each) => each.split('=', 2)));
  return {
    text,
    output,
    consoleUrl,
    baseUrl: /listens on +(\S+)/.exec(text)?.[1] ?? '',
    operatorToken: (await readFile(tokenFile, 'utf8')).trim(),
    clientToken: /gw_s_\w+/.exec(text)?.[0] ?? '',
    async ctl(...args) {
      const finished = await gatewayctl(args, settings);
      walk.read(`gatewayctl ${args.join(' ')}`, finished.stdout + finished.stderr);
      return finished;
    },
  };
}
