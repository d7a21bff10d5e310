import { setTimeout as sleep } from 'node:timers/promises';
import { roomMs } from '@gateway/testkit/room';
import { describe, expect, it } from 'vitest';
import { type Expression, readPanels, readRules } from '../observability/expressions.ts';
import { grafanaVariables } from '../observability/grafana-variables.ts';
import type { TrafficTarget } from '../observability/mixed-traffic.ts';
import type { ObservedGateway } from '../observability/observed-gateway.ts';
import { selectorsOf } from '../observability/promql.ts';

/**
 * A Prometheus that has scraped a gateway under mixed traffic has values for every expression.
 * @param isAsked leaves out expressions that a wiring has no values for
 */
export function dashboardsAndRulesBehaviour<T extends TrafficTarget>(
  observed: () => ObservedGateway<T>,
  isAsked: (expression: string) => boolean = () => true,
): void {
  describe('after mixed traffic with faults', () => {
    /**
     * Expressions without a number within some seconds: counters of services arrive one after the
     * other.
     */
    const unanswered = async (expressions: readonly Expression[]): Promise<readonly string[]> => {
      const { scraping } = observed();
      let left = expressions;
      for (const giveUpAtMs = Date.now() + roomMs(10_000); ; await sleep(500)) {
        const answers = await Promise.all(left.map(({ text }) => scraping.query(text)));
        left = left.filter((_, index) => !answers[index]?.some(({ value }) => !Number.isNaN(value)));
        if (left.length === 0 || Date.now() > giveUpAtMs) return left.map(({ of, text }) => `${of}: ${text}`);
      }
    };

    it('all of it was met', () => {
      for (const round of observed().rounds) {
        for (const [scene, met] of round) expect(met, scene).not.toEqual(expect.any(String));
      }
      expect(observed().rounds[0]?.get('answers')).toEqual(Array.from({ length: 10 }, () => 200));
      expect(observed().rounds[0]?.get('refusals')).toEqual([401, 400, 404, 400, 415, 404, 405, 413]);
      expect(observed().rounds[0]?.get('exhausted')).toEqual([200, ...Array.from({ length: 6 }, () => 429)]);
    });

    it('every expression of every dashboard has data', async () => {
      const panels = readPanels().filter(({ text }) => isAsked(text));
      expect(panels.length).toBeGreaterThan(50);
      const { fillIn, empty } = await grafanaVariables(observed().scraping);
      expect(empty, 'variables that have nothing to choose').toEqual([]);
      expect(await unanswered(panels.map(({ of, text }) => ({ of, text: fillIn(text) })))).toEqual([]);
    });

    it('every rule has recorded something', async () => {
      const { recordings } = readRules();
      expect(recordings.length).toBeGreaterThan(10);
      expect(await unanswered(recordings.map(({ of }) => ({ of, text: of })))).toEqual([]);
    });

    it('every series that an alert looks at is there', async () => {
      const { alerts } = readRules();
      expect(alerts.length).toBeGreaterThan(15);
      const asked = alerts.flatMap(({ of, text }) => selectorsOf(text).map((selector) => ({ of, text: selector })));
      const within = asked.filter(({ text }) => isAsked(text));
      expect(await unanswered(within.map(({ of, text }) => ({ of, text: `last_over_time(${text}[10m])` })))).toEqual(
        [],
      );
    });

    it('a slow bucket leads to its trace', async () => {
      const traceIds = await observed().scraping.traceIds('http_server_request_duration_seconds_bucket');
      const known = new Set(observed().receiver.spans.map(({ traceId }) => traceId));
      expect(traceIds.length).toBeGreaterThan(0);
      expect(traceIds.filter((traceId) => !known.has(traceId))).toEqual([]);
    });
  });
}
