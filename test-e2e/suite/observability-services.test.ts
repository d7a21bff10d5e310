import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { createTestDatabase, startNats, startRedis, type TestServer, untilReady } from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';
import { connect } from 'nats';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { dashboardsAndRulesBehaviour } from '../behaviours/dashboards-and-rules.ts';
import { metricSeriesBehaviour } from '../behaviours/metric-series.ts';
import { requestSpansBehaviour } from '../behaviours/request-spans.ts';
import { chat } from '../client/chat.ts';
import { issueToken } from '../client/tokens.ts';
import { type ObservedGateway, observeGateway } from '../observability/observed-gateway.ts';
import { writeObservedGatewayFile } from '../observability/observed-gateway-file.ts';
import type { Scraping } from '../observability/scraping.ts';
import { type ServicesTopology, startServicesTopology } from '../topologies/services.ts';

describe('the gateway as many processes, looked at', () => {
  let scene: ObservedGateway<ServicesTopology> | undefined;
  let stores: readonly TestServer[] = [];
  const observed = () => scene ?? raise('the gateway has not started');

  beforeAll(async () => {
    scene = await observeGateway({
      start: (env) =>
        startServicesTopology('observed services', {
          env: { ...env, EDGE_WORKERS: '2' },
          tls: true,
          writeFile: writeObservedGatewayFile,
          async openBackends(stack) {
            const redis = stack.use(await startRedis());
            const nats = stack.use(await startNats());
            stores = [redis, nats];
            const database = stack.use(await createTestDatabase());
            return { redisUrl: redis.url, natsUrl: nats.url, postgresUrl: database.url };
          },
        }),
      targetsOf: ({ adminUrls, certificates }) => ({ adminUrls, certificates }),
      meanwhile: async (gateway, scraping) => {
        await publishNonsense(gateway);
        await callWithoutCertificate(gateway);
        await withoutStores(gateway, scraping);
      },
    });
  });
  afterAll(() => scene?.[Symbol.asyncDispose]());

  /**
   * Requests continue without Redis and NATS, which are away until Prometheus has scraped a failed
   * operation of NATS.
   */
  async function withoutStores(gateway: ServicesTopology, { query }: Scraping): Promise<void> {
    const { text } = await issueToken(gateway, { requestsPerMinute: 1_000, tokensPerDay: 1_000_000 });
    const ask = () => chat(gateway, text, { model: 'gateway/messages' });
    await ask();
    await Promise.all(stores.map((store) => store.kill()));
    await Promise.all([ask(), ask()]);
    const failures = 'messaging_client_operation_duration_seconds_count{error_type!=""}';
    await untilReady('a failure of NATS', async () => expect(await query(failures)).not.toEqual([]));
    await Promise.all(stores.map((store) => store.restart()));
    await sleep(roomMs(1_500));
  }

  dashboardsAndRulesBehaviour(observed);
  metricSeriesBehaviour(observed);
  requestSpansBehaviour(observed, { areServices: true, logs: (gateway) => gateway.logs() });
});

/** A message that is no usage. */
async function publishNonsense({ backends }: ServicesTopology): Promise<void> {
  const connection = await connect({ servers: backends.natsUrl });
  await connection.jetstream().publish('usage.recorded', new Uint8Array([255, 255, 255]));
  await connection.close();
}

/** The limiter does not answer unknown callers. */
async function callWithoutCertificate({ limiterAddress }: ServicesTopology): Promise<void> {
  const { hostname, port } = new URL(`https://${limiterAddress}`);
  const socket = connectTls({ host: hostname, port: Number(port), rejectUnauthorized: false, ALPNProtocols: ['h2'] });
  socket.on('error', () => undefined);
  await once(socket, 'close');
}

function raise(message: string): never {
  throw new Error(message);
}
