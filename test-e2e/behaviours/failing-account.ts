import { roomMs } from '@gateway/testkit/room';
import { describe, expect, it } from 'vitest';
import { chat } from '../client/chat.ts';
import { issueToken } from '../client/tokens.ts';
import { gatewayctl } from '../topologies/gateway-process.ts';
import { commandLineSettings, type Topology } from '../topologies/topology.ts';

/** What operators see of an account whose provider can't be reached. */
export function failingAccountBehaviour(gateway: () => Topology): void {
  describe('an account whose provider drops every connection', () => {
    it('is named with the cause by pool status, pool explain and doctor, until it answers again', async () => {
      const { text: token } = await issueToken(gateway(), { kind: 'personal' });
      const ask = async () => (await chat(gateway(), token, { model: 'gateway/dropping' })).status;
      const say = async (...command: readonly string[]) =>
        (await gatewayctl(command, commandLineSettings(gateway()))).stdout;

      const fault = gateway().simulator.faults.add({ account: 'dropping-a', fault: { kind: 'reset' } });
      for (let n = 0; n < 3; n++) expect(await ask()).toBe(503);

      const cause = /3 errors in a row, the last .* ago: the connection (closed before the answer|was reset)/;
      expect(await say('pool', 'status', 'dropping')).toMatch(/^a +failing /m);
      expect(await say('pool', 'status', 'dropping')).toMatch(cause);
      expect(await say('pool', 'explain', 'gateway/dropping')).toMatch(cause);
      const attention = /The account dropping\/a is failing: the connection .*, 3 errors in a row\./;
      await expect.poll(() => say('doctor'), { timeout: roomMs(20_000) }).toMatch(attention);

      gateway().simulator.faults.clear(fault);
      expect(await ask()).toBe(200);
      expect(await say('pool', 'status', 'dropping')).toMatch(/^a +available .*last error .* ago: the connection/m);
      await expect.poll(() => say('doctor'), { timeout: roomMs(20_000) }).not.toMatch(attention);
    });
  });
}
