import { beforeAll, describe, expect, it } from 'vitest';
import { ask } from '../client/roads.ts';
import { issueToken } from '../client/tokens.ts';
import { failingForAWhile } from '../topologies/failing-accounts.ts';
import { gatewayctl } from '../topologies/gateway-process.ts';
import { commandLineSettings, type Topology } from '../topologies/topology.ts';

interface AccountRow {
  readonly name: string;
  readonly state: string;
  readonly cooldowns: readonly object[];
}

/** The text of `gatewayctl account list` for a paused account. */
export function accountListBehaviour(gateway: () => Topology): void {
  describe('gatewayctl account list', () => {
    let token = '';
    beforeAll(async () => {
      token = (await issueToken(gateway(), { kind: 'personal' })).text;
    });

    const { road, model, credentials } = failingForAWhile;
    const pool = model.replace('gateway/', '');
    const listed = async (): Promise<readonly AccountRow[]> => {
      const env = commandLineSettings(gateway());
      const { stdout } = await gatewayctl(['account', 'list', '--pool', pool, '-o', 'json'], env);
      return JSON.parse(stdout);
    };

    it('shows a cooldown as long as it lasts, and then that the account is available', async () => {
      const { faults } = gateway().simulator;
      // A limit without a reset: the account pauses for an estimated time of a few seconds.
      const id = faults.add({ account: credentials[0], fault: { preset: 'rate_limited' } });
      expect((await ask(gateway(), token, { road, model })).status).toBe(429);
      faults.clear(id);
      expect(await listed()).toMatchObject([
        { name: 'a', state: 'cooling', cooldowns: [{ model: '', until: expect.any(String), reason: 'rate_limited' }] },
      ]);
      const cooldowns = async () => (await gateway().operator.accountsOf(pool))[0]?.cooldowns;
      await expect.poll(cooldowns, { interval: 200 }).toEqual([]);
      expect(await listed()).toMatchObject([{ name: 'a', state: 'available', cooldowns: [] }]);
    });
  });
}
