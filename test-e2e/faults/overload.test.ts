import { setTimeout as sleep } from 'node:timers/promises';
import type { RecordedRequest } from '@gateway/simulator';
import { roomMs } from '@gateway/testkit/room';
import { describe, expect, it } from 'vitest';
import { issueToken } from '../client/tokens.ts';
import { startAllInOne } from '../topologies/all-in-one.ts';
import { writeSmallGatewayFile } from '../topologies/gateway-file.ts';
import { startServicesTopology } from '../topologies/services.ts';
import type { Topology } from '../topologies/topology.ts';
import { type Answer, ChatClients, startBusyLoops } from './overload-load.ts';

const limit = 20;
const limitedTokens = 6;
const clientsPerToken = limit + 3;
const otherClients = 60;

const topologies: readonly (readonly [name: string, start: () => Promise<Topology>])[] = [
  ['two workers', () => startAllInOne('overload-workers', { GATEWAY_WORKERS: '2' }, writeSmallGatewayFile)],
  [
    'services, with four edges and two limiters',
    () =>
      startServicesTopology('overload-services', {
        env: { EDGE_WORKERS: '4' },
        replicas: { limiter: 2 },
        writeFile: writeSmallGatewayFile,
      }),
  ],
];

describe('a gateway beside ten busy loops', () => {
  it.each(topologies)(
    'is slow, and nothing else: %s',
    async (_, start) => {
      await using gateway = await start();
      using clients = new ChatClients([gateway.baseUrl]);
      const tokens = await Promise.all(
        Array.from({ length: limitedTokens }, () => issueToken(gateway, { requestsPerMinute: limit })),
      );
      const unlimited = await Promise.all(
        Array.from({ length: otherClients / 4 }, () => issueToken(gateway, { kind: 'personal' })),
      );
      await using _loops = startBusyLoops(Number(process.env.OVERLOAD_LOOPS ?? 10));
      await sleep(500);
      const stop = new AbortController();
      const others = Promise.all(
        Array.from({ length: otherClients }, async (_, n) => {
          const answers: Answer[] = [];
          while (!stop.signal.aborted) {
            answers.push(await clients.ask(unlimited[n % unlimited.length]?.text ?? ''));
            await sleep(1_000);
          }
          return answers;
        }),
      );
      const obeyed = await Promise.all(
        tokens.flatMap(({ text }) =>
          Array.from({ length: clientsPerToken }, async () => ({
            text,
            answers: await clients.obey(text, stop.signal),
          })),
        ),
      );
      stop.abort();
      const all = [...(await others).flat(), ...obeyed.flatMap(({ answers }) => answers)];
      tell(all);
      expect(all.filter(({ status }) => ![200, 429, 503].includes(status)).map(({ text }) => text)).toEqual([]);
      for (const { text } of tokens) {
        const answers = obeyed.filter((each) => each.text === text).flatMap((each) => each.answers);
        expect(mostWithinAMinute(answers, gateway.simulator.requests({ limit: 100_000 }))).toBeLessThanOrEqual(limit);
      }
      expect(obeyed.filter(({ answers }) => answers.filter(({ status }) => status === 429).length > 1)).toEqual([]);
      expect(obeyed.map(({ answers }) => answers.at(-1)?.status).filter((status) => status !== 200)).toEqual([]);
    },
    roomMs(240_000),
  );
});

/**
 * The most requests that were sent by their client and received by the provider within one minute:
 * these were admitted within it.
 */
function mostWithinAMinute(answers: readonly Answer[], received: readonly RecordedRequest[]): number {
  const receivedMs = new Map(received.map(({ body, receivedAtMs }) => [markerIn(body), receivedAtMs]));
  const spans = answers.flatMap(({ marker, sentMs }) => {
    const atMs = receivedMs.get(marker);
    return atMs === undefined ? [] : [{ sentMs, atMs }];
  });
  return Math.max(
    0,
    ...spans.map(
      ({ sentMs: fromMs }) => spans.filter(({ sentMs, atMs }) => sentMs >= fromMs && atMs < fromMs + 60_000).length,
    ),
  );
}

function markerIn(body: Uint8Array): string | undefined {
  return /request-\d+-/.exec(Buffer.from(body).toString())?.[0];
}

function tell(answers: readonly Answer[]): void {
  const counts = Object.groupBy(answers, ({ status }) => String(status));
  const texts = Object.groupBy(
    answers.filter(({ status }) => status >= 500),
    ({ text }) => text,
  );
  const longestMs = Math.max(...answers.map(({ sentMs, receivedMs }) => receivedMs - sentMs));
  const shown = Object.entries({ ...counts, ...texts }).map(([name, of]) => `${of?.length} × ${name}`);
  process.stderr.write(`overload: ${shown.join(', ')}; longest ${longestMs} ms\n`);
}
