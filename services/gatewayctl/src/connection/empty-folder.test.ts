import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RememberingTerminal } from '../__fixtures__/remembering-terminal.ts';
import { buildProgram } from '../program.ts';
import { connectTo } from './admin-connection.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gatewayctl-empty-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Runs a command where no gateway runs and none ever did. */
async function run(command: string): Promise<string> {
  const terminal = new RememberingTerminal();
  const env = { PORT: '2', ADMIN_PORT: '1', GATEWAY_DATA: join(folder, 'data') };
  const args = command.split(' ');
  const program = await buildProgram({ env, connect: connectTo(env) }, args);
  // Some reads find nothing, which is an error.
  await program.parseAsync(args, { from: 'user' }).catch((thrown: Error) => terminal.notes.push(thrown.message));
  return terminal.notes.join('\n');
}

describe('without a gateway and a database', () => {
  it.each([
    ...['token list', 'token show ci', 'account list', 'pool status', 'pool explain gateway/sterk', 'class list'],
    ...['request show 0', 'request list', 'usage report', 'usage reconcile', 'usage replay-dead-letters --dry-run'],
    ...['config show', 'operator list', 'audit list', 'snippet'],
  ])('gatewayctl %s creates nothing, and says where it looked and how to use another gateway', async (command) => {
    const notes = await run(command);
    expect(await readdir(folder)).toEqual([]);
    expect(notes).toContain(`there is no database ${join(folder, 'data/gateway.sqlite')}`);
    expect(notes).toContain('set GATEWAY_ADMIN_URL');
  });

  it('a change creates the database, for the gateway that starts later', async () => {
    expect(await run('operator create eva admin')).toContain('written to the embedded database');
    expect(await readdir(join(folder, 'data'))).toContain('gateway.sqlite');
    expect(await run('operator list')).toBe('');
  });
});
