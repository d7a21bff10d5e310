import { readFile, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { roomSeconds } from '@gateway/testkit/room';
import { describe, type ExpectStatic, it } from 'vitest';
import { issueToken } from '../client/tokens.ts';
import { suiteModelListRefreshSeconds } from '../topologies/gateway-file.ts';
import type { Topology } from '../topologies/topology.ts';

interface ConfiguredTopology extends Topology {
  /** Path of its gateway.yaml. */
  readonly gatewayFile: string;
}

/** `settings.model_list_refresh_seconds`, the only setting for the interval of model lists. */
export function modelListRefreshBehaviour(name: string, start: () => Promise<ConfiguredTopology>): void {
  // These mostly wait: the wirings wait in parallel.
  describe.concurrent(`the model list of ${name}`, () => {
    it('is read as often as gateway.yaml says, also when that changes, and never runs empty', async ({ expect }) => {
      await using gateway = await start();
      const { text } = await issueToken(gateway, { kind: 'personal' });
      const listed = async () => {
        const headers = { authorization: `Bearer ${text}` };
        const response = await fetch(`${gateway.baseUrl}/v1/models`, { headers });
        const { data } = (await response.json()) as { readonly data: readonly { readonly id: string }[] };
        return data.map(({ id }) => id);
      };
      const known = gateway.simulator.models.get().messages;
      const offer = (model: string) => gateway.simulator.models.set({ messages: [...known, model] });
      await expect.poll(listed).toContain('claude-sonnet-5');

      offer('claude-first');
      await expect.poll(listed).toContain('claude-first');
      await stays(expect, listed, 3.5 * suiteModelListRefreshSeconds);

      const setTo = async (seconds: number) => {
        const file = await readFile(gateway.gatewayFile, 'utf8');
        const line = /model_list_refresh_seconds: \d+/;
        expect(file).toMatch(line);
        await writeFile(gateway.gatewayFile, file.replace(line, `model_list_refresh_seconds: ${seconds}`));
      };
      await setTo(3_600);
      // Until the file has been read, and a report is older than three of the new, shorter
      // intervals.
      await stays(expect, listed, roomSeconds(10));
      offer('claude-second');
      await stays(expect, listed, roomSeconds(3));
      expect(await listed()).not.toContain('claude-second');
      await setTo(roomSeconds(1));
      await stays(expect, listed, roomSeconds(5));
      await expect.poll(listed).toContain('claude-second');
    });
  });
}

/** The Messages models are listed all the time. */
async function stays(expect: ExpectStatic, listed: () => Promise<readonly string[]>, seconds: number): Promise<void> {
  const untilMs = performance.now() + seconds * 1_000;
  while (performance.now() < untilMs) {
    expect(await listed()).toContain('claude-sonnet-5');
    await sleep(100);
  }
}
