import { setTimeout as sleep } from 'node:timers/promises';
import { OtlpReceiver } from '@gateway/telemetry/testing';
import { roomMs } from '@gateway/testkit/room';
import { mixedTraffic, type TrafficTarget } from './mixed-traffic.ts';
import { grantOfTests } from './observed-gateway-file.ts';
import { type ScrapeTargets, type Scraping, startScraping } from './scraping.ts';

/** A gateway that sends its spans to a receiver and whose metrics Prometheus scrapes. */
export interface ObservedGateway<T extends TrafficTarget> extends AsyncDisposable {
  readonly gateway: T;
  readonly targets: ScrapeTargets;
  readonly scraping: Scraping;
  readonly receiver: OtlpReceiver;
  /** The results of each scene, in each round of traffic. */
  readonly rounds: readonly ReadonlyMap<string, unknown>[];
}

export interface ObservedGatewayPlan<T extends TrafficTarget> {
  /** Starts it with these settings, on the gateway.yaml of `writeObservedGatewayFile`. */
  readonly start: (env: Readonly<Record<string, string>>) => Promise<T>;
  readonly targetsOf: (gateway: T) => ScrapeTargets;
  /** Further events between two rounds of traffic. */
  readonly meanwhile?: (gateway: T, scraping: Scraping) => Promise<unknown>;
}

/** Starts it, and sends mixed traffic while Prometheus scrapes. */
export async function observeGateway<T extends TrafficTarget>({
  start,
  targetsOf,
  meanwhile,
}: ObservedGatewayPlan<T>): Promise<ObservedGateway<T>> {
  await using stack = new AsyncDisposableStack();
  const receiver = stack.use(await OtlpReceiver.listen());
  const gateway = stack.use(
    await start({ ...tracingSettings(receiver.url), LOG_LEVEL: 'info', ACCOUNT_KEYS: `k1:${'ab'.repeat(32)}` }),
  );
  gateway.simulator.oauth.grant(grantOfTests.account, grantOfTests.refreshToken);
  const targets = targetsOf(gateway);
  const scraping = stack.use(await startScraping(targets));
  await untilRead(scraping, Object.keys(targets.adminUrls).length);
  const rounds = [await mixedTraffic(gateway)];
  await meanwhile?.(gateway, scraping);
  rounds.push(await mixedTraffic(gateway));
  // Rates need a change between two scrapes.
  await sleep(roomMs(2_500));
  const open = stack.move();
  return {
    ...{ gateway, targets, scraping, receiver, rounds },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

/** Prometheus takes some seconds until its first scrape: earlier counts are no change to it. */
async function untilRead(scraping: Scraping, processes: number): Promise<void> {
  const giveUpAtMs = Date.now() + roomMs(30_000);
  while ((await scraping.query('up == 1')).length < processes) {
    if (Date.now() > giveUpAtMs) throw new Error('Prometheus does not reach all processes of the gateway');
    await sleep(200);
  }
}

/** Spans are sent soon, so that tests need not wait. */
export function tracingSettings(url: string): Readonly<Record<string, string>> {
  return { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_BSP_SCHEDULE_DELAY: '100' };
}
