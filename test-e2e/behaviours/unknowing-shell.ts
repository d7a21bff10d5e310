import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@gateway/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { gatewayctl } from '../topologies/gateway-process.ts';
import { commandLineSettings, type Topology } from '../topologies/topology.ts';

/** `gatewayctl` in a shell that has no settings with the address of the admin service. */
export function unknowingShellBehaviour(gateway: () => Topology): void {
  describe('gatewayctl in a shell that does not know the admin service', () => {
    let folder: string;
    let shell: Record<string, string>;
    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'gateway-shell-'));
      const { port } = new URL(gateway().baseUrl);
      shell = { PORT: port, ADMIN_PORT: String(await freePort()), GATEWAY_DATA: folder };
    });
    afterEach(() => rm(folder, { recursive: true, force: true }));

    it.each([
      ['makes no token', ['token', 'create', '--label', 'elsewhere']],
      ['lists no tokens', ['token', 'list']],
      ['reports no usage', ['usage', 'report']],
    ])('%s of another database, says that a gateway runs, and ends with 1', async (_what, args) => {
      const { exitCode, stdout, stderr } = await gatewayctl(args, shell);
      expect([exitCode, stdout]).toEqual([1, '']);
      expect(stderr).toContain(`a gateway responds at ${gateway().baseUrl}, but its admin service does not respond at`);
      expect(stderr).toContain('Set GATEWAY_ADMIN_URL to the address of its console, or use --offline');
      expect(await readdir(folder)).toEqual([]);
    });

    it('uses that database with --offline, and the gateway with its address', async () => {
      const offline = await gatewayctl(['token', 'create', '--label', 'elsewhere', '--offline'], shell);
      expect(offline).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^gw_s_\w+\n$/) });
      expect(offline.stderr).toContain(`written to the embedded database ${join(folder, 'gateway.sqlite')}\n`);
      const informed = { ...shell, ...commandLineSettings(gateway()) };
      const listed = await gatewayctl(['token', 'list', 'elsewhere'], informed);
      expect(listed).toEqual({ exitCode: 0, stdout: '', stderr: 'No matching tokens.\n' });
    });
  });
}
