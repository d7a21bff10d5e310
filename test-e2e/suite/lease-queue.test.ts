import { TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { roomMs, roomSeconds } from '@gateway/testkit/room';
import { expect, it } from 'vitest';
import { chat } from '../client/chat.ts';
import { startAllInOne } from '../topologies/all-in-one.ts';
import { startServicesTopology } from '../topologies/services.ts';
import type { Topology } from '../topologies/topology.ts';

const env = { CONCURRENCY_QUEUE_SECONDS: String(roomSeconds(30)) };
const topologies: readonly (readonly [name: string, start: () => Promise<Topology>])[] = [
  ['in one process', () => startAllInOne('lease-queue', env)],
  ['as services', () => startServicesTopology('lease-queue', { env })],
];

it.each(topologies)('requests beyond those that may run at a time wait, and are answered: %s', async (_, start) => {
  await using gateway = await start();
  const limits = { concurrentRequests: 1 };
  const { tokenText } = await gateway.operator.issue({ kind: TokenKind.SERVICE, label: 'queue', limits });
  const fault = { kind: 'delay', beforeHeadersMs: roomMs(300) } as const;
  gateway.simulator.faults.add({ fault });
  const answered: number[] = [];
  const ask = async (n: number) => {
    const { status } = await chat(gateway, tokenText, { model: 'gateway/sterk' });
    answered.push(n);
    return status;
  };
  const asked = [ask(1)];
  const atProvider = () => gateway.simulator.requests({ limit: 100 }).filter(({ body }) => body.length > 0).length;
  await expect.poll(atProvider, { interval: 10 }).toBe(1);
  for (let n = 2; n <= 4; n++) asked.push(ask(n));
  expect(await Promise.all(asked)).toEqual([200, 200, 200, 200]);
  expect(answered[0]).toBe(1);
});
