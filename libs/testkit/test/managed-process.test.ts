import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { ManagedProcess, type ProcessPlan } from '../src/managed-process.ts';
import { freePort } from '../src/servers/ports.ts';

const script = `
  const server = require('node:http').createServer((request, response) => response.end(String(process.pid)));
  server.listen(Number(process.argv[1]), '127.0.0.1', () => console.log('listening'));
  process.on('SIGTERM', () => { console.log('stopping'); process.exit(0); });
`;

/**
 * A small process with a child that allocates memory that takes long to release, and then prints
 * its pid.
 */
const parentOfLarge = `"$0" -e '
  const memory = Buffer.alloc(400e6, 1);
  console.log(process.pid);
  setInterval(() => memory.length, 1000);
' & wait`;

const servers: ManagedProcess[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server[Symbol.asyncDispose]();
});

async function aProcess(changes: Partial<ProcessPlan> = {}) {
  const port = await freePort();
  const lines: string[] = [];
  const ends: string[] = [];
  const ask = async (withinMs = 2_000) =>
    (await fetch(`http://127.0.0.1:${port}`, { signal: AbortSignal.timeout(withinMs) })).text();
  const plan: ProcessPlan = {
    name: 'the server',
    command: process.execPath,
    parameters: ['-e', script, String(port)],
    env: {},
    cwd: '/',
    stopSignal: 'SIGTERM',
    stopTimeoutMs: 10_000,
    ping: async () => void (await ask()),
    onLine: (line) => lines.push(line),
    onUnexpectedEnd: (how) => ends.push(how),
    ...changes,
  };
  const server = new ManagedProcess(plan);
  servers.push(server);
  return { server, ask, lines, ends, port };
}

describe('a managed process', () => {
  it('is ready once it has started, and passes on what it prints', async () => {
    const { server, ask, lines } = await aProcess();
    await server.restart();
    expect(await ask()).toBe(String(server.pid));
    await server.stop();
    expect(server.pid).toBeUndefined();
    await expect.poll(() => lines).toEqual(['listening', 'stopping']);
  });

  it('starts again on its port after a kill', async () => {
    const { server, ask, ends } = await aProcess();
    await server.restart();
    const first = server.pid;
    await server.kill();
    await expect(ask()).rejects.toThrow();
    await server.restart();
    expect(await ask()).not.toBe(String(first));
    expect(ends).toEqual([]);
  });

  it('has no children left after a kill, however long their memory takes to be given back', async () => {
    const { server, lines } = await aProcess({
      command: 'sh',
      parameters: ['-c', parentOfLarge, process.execPath],
      ping: async () => undefined,
    });
    await server.restart();
    await expect.poll(() => lines).toHaveLength(1);
    const child = Number(lines[0]);
    // The remaining threads of a process; when all have ended, it may be a zombie that its parent
    // has not reaped.
    const threads = () => readdir(`/proc/${child}/task`).catch(() => []);
    expect((await threads()).length).toBeGreaterThan(1);
    await server.kill();
    expect((await threads()).length).toBeLessThan(2);
  });

  it('answers nothing while it is paused', async () => {
    const { server, ask } = await aProcess();
    await server.restart();
    await server.pause();
    await expect(ask(100)).rejects.toThrow();
    await server.resume();
    expect(await ask()).toBe(String(server.pid));
  });

  it('can be stopped while it is paused', async () => {
    const { server, lines } = await aProcess();
    await server.restart();
    await server.pause();
    await server.stop();
    await expect.poll(() => lines).toContain('stopping');
  });

  it('is killed when it does not stop in time', async () => {
    const { server, lines } = await aProcess({ stopTimeoutMs: 50, stopSignal: 'SIGWINCH' });
    await server.restart();
    await server.stop();
    expect(server.pid).toBeUndefined();
    expect(lines).toEqual(['listening']);
  });

  it('reports an unexpected end', async () => {
    const { server, ends } = await aProcess();
    await server.restart();
    process.kill(server.pid ?? 0, 'SIGKILL');
    await expect.poll(() => ends).toEqual(['was ended by SIGKILL']);
    expect(server.pid).toBeUndefined();
  });

  it('says what it printed when it cannot start', async () => {
    const occupant = createServer();
    const { server, port } = await aProcess({ ping: () => Promise.reject(new Error('not yet')) });
    occupant.listen(port, '127.0.0.1');
    await once(occupant, 'listening');
    await expect(server.restart()).rejects.toThrow(/the server ended at its start:[\s\S]*EADDRINUSE/);
    occupant.close();
  });

  it('ends with the process that started it, even if that one crashes', async () => {
    const starter = spawn(process.execPath, ['--input-type=module-typescript', '-e', crashingStarter], {
      cwd: import.meta.dirname,
    });
    const [line] = await once(starter.stdout, 'data');
    const pid = Number(line);
    // Empty for a process that has ended, even before its parent reaps it.
    const command = () => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    expect(await command()).toContain('sleep');
    starter.kill('SIGKILL');
    await expect.poll(command).toBe('');
  });
});

const crashingStarter = `
  import { ManagedProcess } from ${JSON.stringify(new URL('../src/managed-process.ts', import.meta.url).href)};
  const server = new ManagedProcess({
    name: 'sleep', command: 'sleep', parameters: ['1000'], env: process.env, cwd: '/',
    stopSignal: 'SIGTERM', stopTimeoutMs: 1000, ping: async () => undefined,
  });
  await server.restart();
  console.log(server.pid);
  setInterval(() => undefined, 1000);
`;
