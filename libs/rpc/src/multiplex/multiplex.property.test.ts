import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { directClient } from '../client.ts';
import { servedMethods } from '../served-methods.ts';
import { MemoryStream } from './__fixtures__/memory-stream.ts';
import { type Outcome, type Plan, plan, playRoute, run } from './__fixtures__/plans.ts';
import { PlayService } from './__fixtures__/play-service.ts';
import { clientOf } from './channel.ts';
import { ClientSession } from './client-session.ts';
import { Replicas } from './replicas.ts';
import { ServerSession } from './server-session.ts';

const delays = fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 5 });

describe('calls on one stream', () => {
  it('all end once, as the same calls made directly', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(plan, { minLength: 1, maxLength: 12 }), delays, async (plans, delays) => {
        const world = new World(plans, delays);
        const outcomes = await world.runAll();
        const direct = directClient(playRoute(plans));
        for (const [number, plan] of plans.entries()) {
          const expected = await run(direct, plan, number);
          expectSameEnd(plan, outcomes[number], expected);
        }
        await world.expectNothingLeft();
      }),
      { numRuns: 300 },
    );
  });

  it('all end once when the stream breaks: as they would have, or unavailable', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(plan, { minLength: 1, maxLength: 12 }),
        delays,
        fc.integer({ min: 1, max: 30 }),
        async (plans, delays, cutAfter) => {
          const world = new World(plans, delays);
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

/**
 * An abort after everything is sent may come too late for a stream, but never for a direct call.
 */
function expectSameEnd(plan: Plan, outcome: Outcome | undefined, expected: Outcome): void {
  const tooLate = plan.stop?.by === 'abort' && expected.end === 'cancelled' && outcome?.end !== 'cancelled';
  if (!tooLate) return expect(outcome).toEqual(expected);
  expect(outcome?.answers.slice(0, expected.answers.length)).toEqual(expected.answers);
}

/** A server and a client connected by streams in memory. A lost stream is replaced by a new one. */
class World {
  readonly #plans: readonly Plan[];
  readonly #replicas: Replicas;
  readonly #client;
  readonly #streams: MemoryStream[] = [];
  readonly #sessions: ClientSession[] = [];
  readonly #signals: (AbortSignal | undefined)[] = [];

  constructor(plans: readonly Plan[], delays: readonly number[]) {
    this.#plans = plans;
    const methods = servedMethods([playRoute(plans, (_number, signal) => this.#signals.push(signal))]);
    let turn = 0;
    this.#replicas = new Replicas({
      name: 'play',
      resolve: async () => ['one'],
      connect: async () => {
        const stream = new MemoryStream(() => delays[turn++ % delays.length] ?? 0);
        const { server } = stream;
        void new ServerSession(server, { methods }).serve(server.batches).catch(() => undefined);
        const session = new ClientSession(stream.client);
        this.#streams.push(stream);
        this.#sessions.push(session);
        return session;
      },
      resolveIntervalMs: 60_000,
      firstBackoffMs: 1,
    });
    this.#client = clientOf(PlayService, this.#replicas);
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
    await expect.poll(() => this.#signals.filter((signal) => signal?.aborted === false)).toEqual([]);
  }
}
