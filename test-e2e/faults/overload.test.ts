import { setTimeout as sleep } from 'node:timers/promises';
import type { RecordedRequest } from '@gateway/simulator';
import { roomMs } from '@gateway/testkit/room';
import { describe, expect, it } from 'vitest';
import { issueToken } from '../client/tokens.ts';
import { startAllInOne } from '../topologies/all-in-one.ts';
import { writeSmallGatewayFile } from '../topologies/gateway-file.ts';
import { type ServicesTopology, startServicesTopology } from '../topologies/services.ts';
import type { Topology } from '../topologies/topology.ts';
import type { Answer } from './overload-client.ts';
import { ChatClients, startBusyLoops } from './overload-load.ts';

const limit = 60;
const limitedTokens = 2;
const clientsPerToken = 100;
const burstSize = 100;

/** How many tokens that no edge has seen share each burst. */
const tokensOfBursts = [1, 4, 4, 4];

const busyLoops = 10;

interface Scene {
  readonly name: string;
  readonly start: () => Promise<Topology & Partial<Pick<ServicesTopology, 'services'>>>;
}

const scenes: readonly Scene[] = [
  { name: 'one process', start: () => startAllInOne('overload', {}, writeSmallGatewayFile) },
  {
    name: 'two workers',
    start: () => startAllInOne('overload-workers', { GATEWAY_WORKERS: '2' }, writeSmallGatewayFile),
  },
  {
    name: 'services, with four edges and two limiters',
    start: () =>
      startServicesTopology('overload-services', {
        env: { EDGE_WORKERS: '4' },
        replicas: { limiter: 2 },
        writeFile: writeSmallGatewayFile,
      }),
  },
];

describe('a gateway beside ten busy loops', () => {
  it.each(scenes)(
    'is slow, and nothing else: $name',
    async ({ start }) => {
      await using gateway = await start();
      const limited = await issueTokens(gateway, limitedTokens, { requestsPerMinute: limit });
      const bursts: (readonly string[])[] = [];
      for (const count of tokensOfBursts) bursts.push(await issueTokens(gateway, count, { kind: 'personal' }));
      await using clients = new ChatClients(gateway.baseUrl, 10);
      await clients.untilReady();
      await using _loops = startBusyLoops(busyLoops);

      const stop = new AbortController();
      const starving = starveInTurn(gateway.services, stop.signal);
      const crowds = Promise.all(
        limited.map((token) => Promise.all(Array.from({ length: clientsPerToken }, () => clients.obey(token)))),
      );
      const unlimited: Answer[] = [];
      for (const tokens of bursts) unlimited.push(...(await sendBurst(clients, tokens)));
      stop.abort();
      await starving;
      const obeyed = await crowds;
      show(unlimited, obeyed.flat(2));

      expect(unlimited.filter(({ status }) => status !== 200).map(({ text }) => text)).toEqual([]);
      const received = receivedTimes(gateway.simulator.requests({ limit: 100_000 }));
      for (const answersOfClients of obeyed) {
        const answers = answersOfClients.flat();
        expect(answers.filter((answer) => answer.status !== 200 && !isOfLimit(answer))).toEqual([]);
        expect(answersOfClients.filter((each) => each.at(-1)?.status !== 200)).toEqual([]);
        expect(mostWithinAMinute(answers, received)).toBeLessThanOrEqual(limit);
        expect(answers.filter((answer) => isOfLimit(answer) && !isTrue(answer, answers, received))).toEqual([]);
      }
    },
    roomMs(240_000),
  );
});

/**
 * A machine gives its time to some of many programs, and for a while none to others. One that
 * starves for less than a probe waits is slow, and not away.
 */
async function starveInTurn(services: ServicesTopology['services'] | undefined, signal: AbortSignal): Promise<void> {
  if (services === undefined) return;
  while (!signal.aborted)
    for (const service of [services.identity, services.limiter, services['pool-broker']]) {
      await service.pause();
      await sleep(2_000);
      await service.resume();
    }
}

async function issueTokens(
  gateway: Topology,
  count: number,
  options: Parameters<typeof issueToken>[1],
): Promise<readonly string[]> {
  return Promise.all(Array.from({ length: count }, async () => (await issueToken(gateway, options)).text));
}

function sendBurst(clients: ChatClients, tokens: readonly string[]): Promise<readonly Answer[]> {
  return Promise.all(Array.from({ length: burstSize }, (_, n) => clients.ask(tokens[n % tokens.length] ?? '')));
}

function isOfLimit({ status, retryAfterSeconds = 0, text }: Answer): boolean {
  const isInRange = retryAfterSeconds >= 1 && retryAfterSeconds <= 60;
  return status === 429 && isInRange && text.includes('"limit":"requests_per_minute"');
}

/**
 * Whether of the requests that were admitted before this refusal, one has certainly left the window
 * when the refusal's client comes back.
 */
function isTrue({ receivedMs, retryAfterSeconds = 0 }: Answer, answers: readonly Answer[], received: Times): boolean {
  const windowFromMs = receivedMs + retryAfterSeconds * 1_000 - 60_000;
  const stillInWindow = answers.filter(
    ({ marker, sentMs }) => sentMs > windowFromMs && (received.get(marker) ?? Number.POSITIVE_INFINITY) < receivedMs,
  );
  return stillInWindow.length < limit;
}

/**
 * The most requests that were sent by their client and received by the provider within one minute:
 * these were admitted within it.
 */
function mostWithinAMinute(answers: readonly Answer[], received: Times): number {
  const spans = answers.flatMap(({ marker, sentMs }) => {
    const atMs = received.get(marker);
    return atMs === undefined ? [] : [{ sentMs, atMs }];
  });
  return Math.max(
    0,
    ...spans.map(
      ({ sentMs: fromMs }) => spans.filter(({ sentMs, atMs }) => sentMs >= fromMs && atMs < fromMs + 60_000).length,
    ),
  );
}

/** When the provider received the requests, by their markers. */
type Times = ReadonlyMap<string, number>;

function receivedTimes(requests: readonly RecordedRequest[]): Times {
  return new Map(
    requests.map(({ body, receivedAtMs }) => [
      /request-\d+-/.exec(Buffer.from(body).toString())?.[0] ?? '',
      receivedAtMs,
    ]),
  );
}

function show(...crowds: readonly (readonly Answer[])[]): void {
  for (const answers of crowds) {
    const kinds = Object.groupBy(answers, ({ status, text }) =>
      status === 200 || status === 429 ? status : `${status} ${text}`,
    );
    const counts = Object.entries(kinds).map(([kind, of]) => `${of?.length} × ${kind}`);
    const longestMs = Math.max(...answers.map(({ sentMs, receivedMs }) => receivedMs - sentMs));
    process.stderr.write(`overload: ${counts.join(', ')}; longest ${longestMs} ms\n`);
  }
}
