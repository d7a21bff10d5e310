import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Vitest's `globalSetup`: tests run the programs of the image, built from the current sources. */
export default async function setup(): Promise<(() => Promise<void>) | undefined> {
  // Another project of this run has built them.
  if (process.env.GATEWAY_PROGRAMS !== undefined) return undefined;
  const folder = await mkdtemp(join(tmpdir(), 'gateway-programs-'));
  process.env.GATEWAY_PROGRAMS = join(folder, 'programs');
  // Node's compile cache is keyed by the path of a program, and this path does not come again.
  process.env.NODE_COMPILE_CACHE = join(folder, 'compiled');
  await promisify(execFile)('npm', ['run', 'build:programs', '--', process.env.GATEWAY_PROGRAMS]);
  // Processes of the run that are about to end still write to it.
  return () => rm(folder, { recursive: true, force: true, maxRetries: 10 });
}
