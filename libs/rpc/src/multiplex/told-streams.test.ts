import { GatewayError } from '@gateway/errors';
import { describe, expect, it } from 'vitest';
import { allAtHand, atHand } from '../at-hand.ts';
import { serviceRoute } from '../service-types.ts';
import type { AnswerListener, Answers, ToldCall } from '../told-answers.ts';
import { Connection } from './__fixtures__/connection.ts';
import { PlayService } from './__fixtures__/play-service.ts';
import { defaultLimits } from './limits.ts';

const limits = { ...defaultLimits, windowBytes: 10_000, maxMessageBytes: 1_000_000, pieceBytes: 4_000 };

interface Value {
  readonly value: Uint8Array;
}

/** Tells all at once, whoever pauses, and then how it ended. */
class AllAtOnce implements Answers<Value> {
  readonly #count: number;
  readonly #failure: Error | undefined;

  constructor(count: number, failure?: Error) {
    this.#count = count;
    this.#failure = failure;
  }

  tellTo(listener: AnswerListener<Value>): ToldCall {
    setImmediate(() => {
      for (let n = 0; n < this.#count; n++) listener.onAnswer({ value: Buffer.alloc(1_000, n) });
      if (this.#failure === undefined) listener.onEnd();
      else listener.onFailure(this.#failure);
    });
    return { cancel: () => undefined, pause: () => undefined, resume: () => undefined };
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Value> {}
}

/** Tells for as long as it may. */
class Endless implements Answers<Value> {
  produced = 0;
  isCancelled = false;

  tellTo(listener: AnswerListener<Value>): ToldCall {
    let isPaused = false;
    const tell = () => {
      for (let n = 0; n < 3 && !isPaused && !this.isCancelled; n++) {
        this.produced++;
        listener.onAnswer({ value: Buffer.alloc(1_000) });
      }
      if (!isPaused && !this.isCancelled) setImmediate(tell);
    };
    setImmediate(tell);
    return {
      cancel: () => {
        this.isCancelled = true;
      },
      pause: () => {
        isPaused = true;
      },
      resume: () => {
        isPaused = false;
        setImmediate(tell);
      },
    };
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Value> {}
}

let endless = new Endless();
const requestsAtHand: (number | undefined)[] = [];

const route = serviceRoute(PlayService, {
  unary: (request) => request,
  serverStream: ({ value }) => {
    if (String(value) === 'endless') return endless;
    return new AllAtOnce(100, value.length === 0 ? undefined : new GatewayError('pool_exhausted', 'All busy.'));
  },
  clientStream: async (requests) => {
    const messages = allAtHand(requests);
    requestsAtHand.push(messages?.length);
    return { value: Buffer.concat((messages ?? []).map(({ value }) => value)) };
  },
  bidiStream: () => new AllAtOnce(0),
});

describe('answers that a handler tells', () => {
  it.each([
    ['end', ''],
    ['failure', 'refused'],
  ])('all arrive before their %s, also when more are told than the window holds', async (_, value) => {
    const { client } = await Connection.open(route, limits);
    const told: number[] = [];
    const ended = Promise.withResolvers<unknown>();
    client.serverStream({ value: Buffer.from(value) }).tellTo({
      onAnswer: ({ value }) => told.push(value[0] ?? -1),
      onEnd: () => ended.resolve('end'),
      onFailure: ended.resolve,
    });
    const expected = value === '' ? 'end' : expect.objectContaining({ code: 'pool_exhausted' });
    expect(await ended.promise).toEqual(expected);
    expect(told).toEqual(Array.from({ length: 100 }, (_, n) => n));
  });

  it('stop coming while the caller pauses, without holding up other calls, and end when it leaves', async () => {
    const { client } = await Connection.open(route, limits);
    endless = new Endless();
    let told = 0;
    const call = client.serverStream({ value: Buffer.from('endless') }).tellTo({
      onAnswer: () => {
        told++;
        call.pause();
      },
      onEnd: () => undefined,
      onFailure: () => undefined,
    });
    const stalled = async () => {
      const before = endless.produced;
      for (let n = 0; n < 10; n++) await client.unary({ value: Buffer.of(1) });
      return endless.produced === before && before > 0;
    };
    await expect.poll(stalled).toBe(true);
    expect(told).toBe(1);
    // The window, and what was told in the turn in which it was used up.
    expect(endless.produced).toBeLessThanOrEqual(13);
    const held = endless.produced;
    const goOn = () => {
      call.resume();
      return endless.produced;
    };
    await expect.poll(goOn, { interval: 5 }).toBeGreaterThan(held + 10);
    expect(endless.produced - told).toBeLessThanOrEqual(13);
    call.cancel();
    await expect.poll(() => endless.isCancelled).toBe(true);
  });
});

describe('requests of a stream', () => {
  it('are at hand for the handler when all came with the opening, and only then', async () => {
    const { client } = await Connection.open(route, limits);
    const values = [Buffer.of(1), Buffer.of(2)].map((value) => ({ value }));
    expect(Buffer.from((await client.clientStream(atHand(values))).value)).toEqual(Buffer.of(1, 2));
    await client.clientStream(atHand([]));
    await client.clientStream(
      (async function* () {
        yield { value: Buffer.of(1) };
        await new Promise((resolve) => setImmediate(resolve));
        yield { value: Buffer.of(2) };
      })(),
    );
    await client.clientStream(atHand([{ value: Buffer.alloc(50_000) }]));
    expect(requestsAtHand).toEqual([2, 0, undefined, undefined]);
  });
});
