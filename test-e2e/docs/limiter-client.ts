import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Language, repositoryRoot, toolchain } from './toolchains.ts';

const page = join(repositoryRoot, 'docs/limiter/clients.md');

/**
 * A client of docs/limiter/clients in a folder of its own, with the stubs that its page generates.
 */
export interface LimiterClient extends AsyncDisposable {
  /** Runs it, and returns its output lines. */
  run(address: string, env?: Readonly<Record<string, string>>): Promise<readonly string[]>;
}

/** Follows the page: copies the client and the contract, generates the stubs, compiles. */
export async function prepareLimiterClient(language: Language): Promise<LimiterClient> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'limiter-client-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const project = join(folder, 'src/example.com/limiter-client');
  await cp(join(repositoryRoot, 'docs/limiter/clients', language.toLowerCase()), project, { recursive: true });
  await cp(join(repositoryRoot, 'proto/gateway/limiter'), join(project, 'proto/gateway/limiter'), { recursive: true });
  await symlink(join(repositoryRoot, 'node_modules'), join(project, 'node_modules'));
  const tools = await toolchain(language, folder);
  const commands = (await commandsOf(language)).split('\n');
  const start = commands.pop() ?? '';
  if (!start.endsWith(' localhost:50051')) throw new Error(`The last command of ${language} on ${page} is ${start}`);
  const inShell = async (script: string, env: Readonly<Record<string, string>> = {}) => {
    // A busy machine may take long.
    const variables = { HOME: folder, LIMITER_TIMEOUT_MS: '30000', ...tools, ...env };
    const { stdout } = await promisify(execFile)('sh', ['-ec', script], { cwd: project, env: variables });
    return stdout;
  };
  await inShell(commands.join('\n'));
  const open = stack.move();
  return {
    run: async (address, env) => (await inShell(start.replace('localhost:50051', address), env)).trimEnd().split('\n'),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

/** The output of each client according to the page, as a pattern for each line. */
export async function printedByClients(): Promise<readonly RegExp[]> {
  const [, text = ''] = /^```text\n(.*?)\n```$/ms.exec(await readFile(page, 'utf8')) ?? [];
  return text.split('\n').map((line) => {
    const pattern = line.replace(/\d{4}-\d\d-\d\d/, '\\d{4}-\\d\\d-\\d\\d').replace('in 60 s', 'in (59|60) s');
    return new RegExp(`^${pattern}$`);
  });
}

/** The last block of the language's section: the one before it installs packages. */
async function commandsOf(language: Language): Promise<string> {
  const section = (await readFile(page, 'utf8')).split(/^## /m).find((text) => text.startsWith(`${language}\n`)) ?? '';
  const [, commands] = [...section.matchAll(/^```sh[^\n]*\n(.*?)\n```$/gms)].map(([, text = '']) => text);
  if (commands === undefined) throw new Error(`${page} has no commands for ${language}`);
  return commands;
}
