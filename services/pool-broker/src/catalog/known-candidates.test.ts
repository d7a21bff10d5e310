import type { PoolFormat } from '@gateway/config';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { gatewayWith, sampleAccount, sampleGateway } from '../__fixtures__/sample-gateway.ts';
import { MemoryPoolStore } from '../store/memory-pool-store.ts';
import { Catalog } from './catalog.ts';

const refreshMs = sampleGateway.settings.modelListRefreshMs;
const [ofResponses, ofMessages] = [sampleAccount('responses', 'a'), sampleAccount('messages', 'b')];
const gateways = [
  sampleGateway,
  gatewayWith([ofResponses]),
  gatewayWith([ofMessages], { classes: [] }),
  gatewayWith([ofResponses, ofMessages], {
    pools: sampleGateway.pools.map((pool) => ({ ...pool, modelPatterns: ['claude-*', 'gpt-*'] })),
    settings: { ...sampleGateway.settings, modelListRefreshMs: refreshMs / 4 },
  }),
];
const lists = [undefined, [], ['gpt-5.5', 'claude-9-20260101'], ['claude-9', 'gpt-6'], ['gateway/sterk']];
const models = ['gateway/sterk', 'gateway/snel', 'gpt-5.5', 'gpt-6', 'claude-9', 'claude-9-20260101', 'made-up'];
const formats: readonly (readonly PoolFormat[])[] = [[], ['messages', 'responses'], ['responses'], ['messages']];

/** Times at the ends of lists, beyond them, and back, because clocks may be set. */
const waitsMs = [1, -1, 3 * refreshMs, (3 * refreshMs) / 4, 3 * refreshMs + 1, -2 * refreshMs];

const questions = models.flatMap((model) => formats.map((each) => ({ model, formats: each })));

const pool = fc.constantFrom('responses', 'messages');
const list = fc.constantFrom(...lists);
const step = fc.oneof(
  fc.record({ kind: fc.constant('configure' as const), gateway: fc.constantFrom(...gateways) }),
  fc.record({ kind: fc.constant('report' as const), pool, list }),
  fc.record({ kind: fc.constant('report elsewhere' as const), pool, list }),
  fc.record({ kind: fc.constant('refresh' as const) }),
  fc.record({ kind: fc.constant('wait' as const), ms: fc.constantFrom(...waitsMs) }),
  fc.record({ kind: fc.constant('wait' as const), ms: fc.nat(4 * refreshMs) }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

class CatalogUnderTest {
  #nowMs = 1_000_000_000;
  readonly #store = new MemoryPoolStore(() => this.#nowMs);
  readonly #catalog = new Catalog(sampleGateway, this.#store);

  async take(taken: Step): Promise<void> {
    switch (taken.kind) {
      case 'configure':
        return this.#catalog.configure(taken.gateway);
      case 'report':
        return this.#catalog.report(taken.pool, toModels(taken.list));
      case 'report elsewhere': {
        const models = toModels(taken.list);
        const reported = { reportedAtMs: this.#nowMs, reachable: models !== undefined, refreshMs };
        return this.#store.saveModelReport({ pool: taken.pool, ...reported, models });
      }
      case 'refresh':
        return this.#catalog.refresh();
      case 'wait':
        this.#nowMs += taken.ms;
    }
  }

  answersTo(asked: typeof questions) {
    return new Map(asked.map((each) => [each, this.#catalog.resolve(each.model, each.formats)]));
  }
}

function toModels(ids: readonly string[] | undefined) {
  return ids?.map((id) => ({ id, displayName: '' }));
}

describe('the candidates of a model', () => {
  it('are those of a catalog that was never asked before, whatever has changed since', async () => {
    const steps = fc.array(step, { minLength: 1, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(steps, async (taken) => {
        const asked = new CatalogUnderTest();
        for (const [at, each] of taken.entries()) {
          asked.answersTo(questions);
          await asked.take(each);
          const fresh = new CatalogUnderTest();
          for (const earlier of taken.slice(0, at + 1)) await fresh.take(earlier);
          // Asked in reverse order, so that a remembered answer can't affect both catalogs alike.
          expect(asked.answersTo(questions)).toEqual(fresh.answersTo(questions.toReversed()));
        }
      }),
      { numRuns: 300 },
    );
  });
});
