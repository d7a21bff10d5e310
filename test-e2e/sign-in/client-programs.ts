import { execFile } from 'node:child_process';
import { access, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder } from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';

const run = promisify(execFile);

/** Clients as their makers publish them. They are large, so only these tests download them. */
export const clientPackages = {
  claude: '@anthropic-ai/claude-code@2.1.332',
  codex: '@openai/codex@0.171.0',
} as const;

/** The folder with the programs, downloaded once. */
export async function clientPrograms(): Promise<string> {
  const folder = join(cacheFolder(), 'clients');
  const programs = join(folder, 'node_modules/.bin');
  const names = Object.keys(clientPackages);
  const areThere = await Promise.all(names.map((name) => access(join(programs, name)))).then(
    () => true,
    () => false,
  );
  if (areThere) return programs;
  await mkdir(folder, { recursive: true });
  process.stdout.write(`sign-in: downloading ${Object.values(clientPackages).join(' and ')}\n`);
  await run('npm', ['install', '--no-audit', '--no-fund', '--prefix', folder, ...Object.values(clientPackages)], {
    timeout: roomMs(600_000),
  });
  return programs;
}
