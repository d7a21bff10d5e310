import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts, programOf } from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';
import { describe, expect, it } from 'vitest';
import { chat } from '../client/chat.ts';
import { type RunningCommand, startCommand, untilReady } from '../topologies/gateway-process.ts';

// On a real file system of 24 MiB, in a mount namespace of its own. Where the machine allows no
// such namespace, this fails and says so: a full disk can't be tried otherwise.

describe.runIf(process.platform === 'linux')('a gateway in one process on a full disk', () => {
  it.each([
    ['stopped', 'SIGTERM'],
    ['killed', 'SIGKILL'],
  ] as const)(
    'starts after it was %s, serves, says so, and records everything once there is room',
    async (_, signal) => {
      await using disk = await smallDisk();
      const [port, adminPort] = await freePorts(2);
      const settings = { PORT: String(port), ADMIN_PORT: String(adminPort), GATEWAY_DATA: disk.folder };
      const gateway = { baseUrl: `http://127.0.0.1:${port}` };
      const adminUrl = `http://127.0.0.1:${adminPort}`;
      const start = async () => {
        const command = disk.start(process.execPath, [programOf('gatewayctl'), 'start'], settings);
        await untilReady(adminUrl, command);
        await expect.poll(command.stdout, { timeout: roomMs(60_000) }).toMatch(/\bBearer /);
        return command;
      };
      const readiness = async () => (await fetch(`${adminUrl}/readyz`)).text();
      const first = await start();
      const [, token = ''] = /\bBearer ([^'"]+)/.exec(first.stdout()) ?? [];
      const answered = async () => (await chat(gateway, token, { model: 'gateway/sterk' })).status;
      expect(await answered()).toBe(200);
      expect(await readiness()).toBe('ok\n');
      first.kill(signal);
      await first.ended;

      await disk.run(`dd if=/dev/zero of=${disk.folder}/fill bs=4k 2>/dev/null; true`);
      const onFull = await start();
      const told = new RegExp(`the disk of ${disk.folder}\\S* is full \\(\\d+ bytes free\\)\\. .*free space there`);
      let requests = 1;
      // Files of a killed process have room for some rows.
      const answeredOnFull = async () => {
        expect(await answered()).toBe(200);
        requests += 1;
        return onFull.stderr();
      };
      await expect.poll(answeredOnFull, { timeout: roomMs(60_000) }).toMatch(told);
      expect(await readiness()).toMatch(/^ok, but the disk of .* is full/);
      const doctor = disk.start(process.execPath, [programOf('gatewayctl'), 'doctor'], settings);
      expect((await doctor.ended).stdout).toMatch(/✗ disk +the disk is full/);

      await disk.run(`rm ${disk.folder}/fill`);
      await expect.poll(() => requestsOf(gateway.baseUrl, token), { timeout: roomMs(30_000) }).toBe(requests);
      expect(await readiness()).toBe('ok\n');
      onFull.kill('SIGTERM');
      expect((await onFull.ended).exitCode).toBe(0);
      await using again = await start();
      expect(await requestsOf(gateway.baseUrl, token)).toBe(requests);
      expect(again.stderr()).not.toContain('is full');
    },
  );
});

async function requestsOf(baseUrl: string, token: string): Promise<number> {
  const response = await fetch(`${baseUrl}/v1/usage`, { headers: { authorization: `Bearer ${token}` } });
  const usage = (await response.json()) as { readonly today?: { readonly requests: number } };
  return usage.today?.requests ?? 0;
}

/** A small disk that only the programs started with it see. It ends with its holder. */
async function smallDisk() {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-full-disk-'));
  const mount = `mount -t tmpfs -o size=24m tmpfs ${folder} && echo mounted && exec sleep 86400`;
  const holder = startCommand('unshare', ['--map-root-user', '--mount', 'sh', '-c', mount], {});
  const failed = holder.ended.then(({ stderr }) => {
    throw new Error(`This machine allows no mount namespace, which this test needs: ${stderr}`);
  });
  await Promise.race([once(holder.child.stdout ?? holder.child, 'data'), failed]);
  failed.catch(() => undefined);
  const within = ['--target', String(holder.pid), '--user', '--mount', '--preserve-credentials', '--'];
  const start = (
    program: string,
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ): RunningCommand => startCommand('nsenter', [...within, program, ...args], env);
  return {
    folder,
    start,
    run: async (script: string) => expect((await start('sh', ['-c', script]).ended).exitCode).toBe(0),
    async [Symbol.asyncDispose]() {
      await holder[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
