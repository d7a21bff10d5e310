import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { directClient } from '../direct-client.ts';
import { MemoryStream } from './__fixtures__/memory-stream.ts';
import { type Outcome, type Plan, plan, playRoute, run } from './__fixtures__/plans.ts';
import { PlayService } from './__fixtures__/play-service.ts';
import { ClientSession } from './client-session.ts';
import type { MultiplexLimits } from './limits.ts';
import { multiplexedClient } from './multiplexed-client.ts';
import { defaultReplicaTimes, type Network } from './replica.ts';
import { ReplicaSet } from './replica-set.ts';
import { servedMethods } from './served-methods.ts';
import { ServerSession } from './server-session.ts';

const limits: fc.Arbitrary<MultiplexLimits> = fc.record({
  windowBytes: fc.integer({ min: 1, max: 4_000 }),
  maxMessageBytes: fc.constant(100_000),
  pieceBytes: fc.integer({ min: 1, max: 500 }),
  batchBytes: fc.integer({ min: 1, max: 1_000 }),
  inFlightBytes: fc.integer({ min: 1, max: 2_000 }),
});

const delays = fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 5 });

describe('calls on one stream', () => {
  it('all end once, as the same calls made directly', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(plan, { minLength: 1, maxLength: 12 }),
        limits,
        delays,
        async (plans, limits, delays) => {
          const world = new World(plans, limits, delays);
          const outcomes = await world.runAll();
          const direct = directClient(playRoute(plans));
          for (const [number, plan] of plans.entries()) {
            const expected = await run(direct, plan, number);
            expectSameEnd(plan, outcomes[number], expected);
          }
          await world.expectNothingLeft();
        },
      ),
      { numRuns: 300 },
    );
  });

  it('all end once when the stream breaks: as they would have, or unavailable', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(plan, { minLength: 1, maxLength: 12 }),
        limits,
        delays,
        fc.integer({ min: 1, max: 30 }),
        async (plans, limits, delays, cutAfter) => {
          const world = new World(plans, limits, delays);
          const running = world.runAll();
          for (let turn = 0; turn < cutAfter; turn++) await new Promise((resolve) => setImmediate(resolve));
          world.cut();
          const outcomes = await running;
          const direct = directClient(playRoute(plans));
          for (const [number, plan] of plans.entries()) {
            const outcome = outcomes[number];
            const expected = await run(direct, plan, number);
            if (outcome?.end === 'unavailable') {
              expect(expected.answers.slice(0, outcome.answers.length)).toEqual(outcome.answers);
            } else expectSameEnd(plan, outcome, expected);
          }
          await world.expectNothingLeft();
        },
      ),
      { numRuns: 300 },
    );
  });
});

/** An abort that comes when everything has been sent may be too late for a stream, but never for a direct call. */
function expectSameEnd(plan: Plan, outcome: Outcome | undefined, expected: Outcome): void {
  const tooLate = plan.stop?.by === 'abort' && expected.end === 'cancelled' && outcome?.end !== 'cancelled';
  if (!tooLate) return expect(outcome).toEqual(expected);
  expect(outcome?.answers.slice(0, expected.answers.length)).toEqual(expected.answers);
}

/** A server and a client whose streams are in memory. A stream that is cut is replaced by a new one. */
class World {
  readonly #plans: readonly Plan[];
  readonly #replicas: ReplicaSet;
  readonly #client;
  readonly #streams: MemoryStream[] = [];
  readonly #sessions: ClientSession[] = [];
  readonly #signals: (AbortSignal | undefined)[] = [];

  constructor(plans: readonly Plan[], limits: MultiplexLimits, delays: readonly number[]) {
    this.#plans = plans;
    const route = playRoute(plans, (_number, signal) => this.#signals.push(signal));
    const methods = servedMethods([route]);
    let turn = 0;
    const network: Network = {
      openSession: (_address, keeper) => {
        const stream = new MemoryStream({ delay: () => delays[turn++ % delays.length] ?? 0 });
        const client = new ClientSession(stream.client, { limits, heartbeatMs: 10_000 }, keeper);
        stream.connect(client, new ServerSession(stream.server, { limits, heartbeatMs: 10_000, methods }));
        this.#streams.push(stream);
        this.#sessions.push(client);
        return client;
      },
      openPlain: () => {
        throw new Error('not plain');
      },
    };
    this.#replicas = new ReplicaSet({
      name: 'play',
      resolve: async () => ['one'],
      network,
      times: defaultReplicaTimes,
      resolveMs: 60_000,
    });
    this.#client = multiplexedClient(PlayService, this.#replicas, limits);
  }

  runAll(): Promise<readonly Outcome[]> {
    return Promise.all(this.#plans.map((plan, number) => run(this.#client, plan, number)));
  }

  cut(): void {
    for (const stream of this.#streams) stream.cut();
  }

  async expectNothingLeft(): Promise<void> {
    expect(this.#sessions.map((session) => session.inFlight)).toEqual(this.#sessions.map(() => 0));
    this.#replicas[Symbol.dispose]();
    await new Promise((resolve) => setTimeout(resolve, 2));
    expect(this.#signals.filter((signal) => signal?.aborted === false)).toEqual([]);
  }
}
