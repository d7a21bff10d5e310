import { promtool } from '@gateway/testkit';
import { describe, expect, it } from 'vitest';
import { chat } from '../client/chat.ts';
import { head, RawConnection } from '../client/raw-http.ts';
import { countBody, messagesBody, relay, responsesBody } from '../client/relay.ts';
import { issueToken } from '../client/tokens.ts';
import { type Family, familiesOf, readExposition } from '../observability/exposition.ts';
import { readMetricReference } from '../observability/metric-reference.ts';
import type { TrafficTarget } from '../observability/mixed-traffic.ts';
import type { ObservedGateway } from '../observability/observed-gateway.ts';

/**
 * The series that processes show on `/metrics`: those of the reference, and none that a client
 * creates.
 * @param isShown whether a wiring has a metric of the reference
 */
export function metricSeriesBehaviour<T extends TrafficTarget>(
  observed: () => ObservedGateway<T>,
  isShown: (metric: string) => boolean = () => true,
): void {
  describe('the metrics', () => {
    const expositions = () => Promise.all(Object.values(observed().targets.adminUrls).map(readExposition));
    const families = async (): Promise<readonly Family[]> =>
      (await expositions()).flatMap((exposition) => [...familiesOf(exposition).values()]);

    it('of all processes are those of docs/reference/metrics.md, with their types', async () => {
      const shown = new Map((await families()).map(({ name, type }) => [name, type]));
      const documented = [...readMetricReference().values()].filter(({ name }) => isShown(name));
      const sorted = (pairs: readonly (readonly [string, string])[]) => pairs.map((pair) => pair.join(' ')).toSorted();
      expect(sorted([...shown])).toEqual(sorted(documented.map(({ name, type }) => [name, type])));
    });

    it('have no labels but those that are documented', async () => {
      const reference = readMetricReference();
      const undocumented = (await families()).flatMap(({ name, series }) => {
        const known = ['le', 'worker', ...(reference.get(name)?.labels ?? [])];
        const unknown = series.flatMap(({ labels }) => Object.keys(labels).filter((label) => !known.includes(label)));
        return [...new Set(unknown)].map((label) => `${name}: ${label}`);
      });
      expect(undocumented).toEqual([]);
    });

    /**
     * We do not choose the names of prom-client, and a "day" of the ledger is a thing, not a unit
     * of time.
     */
    it('are as promtool wants them', async () => {
      for (const exposition of await expositions()) {
        const lines = exposition
          .split('\n')
          .filter((line) => !/^(# \w+ )?(nodejs_|gateway_usage_days_removed_total)/.test(line));
        await promtool(['check', 'metrics'], lines.join('\n'));
      }
    });

    it("have no series for clients' inventions: a thousand models, paths, methods, sessions", async () => {
      const token = await issueToken(observed().gateway, { requestsPerMinute: 100_000 });
      await madeUp(observed().gateway, token.text, ['0']);
      const before = seriesOf(await families());
      for (let n = 1; n <= 1_000; n += 100) {
        const names = Array.from({ length: 100 }, (_, index) => String(n + index));
        await madeUp(observed().gateway, token.text, names);
      }
      const after = await families();
      expect(seriesOf(after).filter((series) => !before.includes(series))).toEqual([]);
      const texts = after.flatMap(({ series }) => series.flatMap(({ labels }) => Object.values(labels)));
      expect(texts.filter((text) => /zebra/i.test(text) || text.includes(token.tokenId))).toEqual([]);
      // Some of them reached a provider.
      expect(texts).toContain('other');
      const asked = observed().gateway.simulator.requests({ account: 'unlisted-a', path: '/v1/messages' });
      expect(asked.length).toBeGreaterThan(1);
    });
  });
}

/** One request for each name, which is in every place that a client fills. */
async function madeUp(gateway: TrafficTarget, token: string, names: readonly string[]): Promise<void> {
  await Promise.all(
    names.map(async (name, index) => {
      const text = `zebra-${name}`;
      const headers = { 'session-id': text, 'user-agent': text, 'x-request-id': text, 'anthropic-beta': text };
      const roads = [
        () => chat(gateway, token, { model: text, user: text }, { headers }),
        () => chat(gateway, token, { model: `gateway/${text}`, stream: true }, { headers }),
        () => relay(gateway, token, { path: '/v1/messages', body: messagesBody(`claude-${text}`, text), headers }),
        () =>
          relay(gateway, token, {
            path: '/v1/messages/count_tokens',
            body: countBody(`claude-${text}`, text),
            headers,
          }),
        () => relay(gateway, token, { path: '/v1/responses', body: responsesBody(text, text), headers }),
        () => fetch(`${gateway.baseUrl}/${text}`, { headers }),
        () =>
          fetch(`${gateway.baseUrl}/v1/models?${text}`, { headers: { ...headers, authorization: `Bearer ${text}` } }),
        () => oddMethod(gateway, text),
      ];
      // The first name goes everywhere: all series of such requests exist before there are many of
      // them.
      const chosen = name === '0' ? roads : roads.filter((_, road) => road === index % roads.length);
      await Promise.all(chosen.map((ask) => ask()));
    }),
  );
}

async function oddMethod({ baseUrl }: TrafficTarget, text: string) {
  using connection = new RawConnection({ baseUrl });
  // Methods that Node does not know end the connection.
  return await connection.send(head(`PROPFIND /${text}`, { host: 'localhost' })).answer();
}

/**
 * Names and labels of all series except Node's, whose kinds of handles change. It is random which
 * worker served a request.
 */
function seriesOf(families: readonly Family[]): readonly string[] {
  return families
    .filter(({ name }) => !name.startsWith('nodejs_'))
    .flatMap(({ series }) =>
      series.map(({ name, labels: { worker: _, ...labels } }) => `${name} ${JSON.stringify(labels)}`),
    );
}
