import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { answerInOrder } from './answer-in-order.ts';

const never = new AbortController().signal;

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
}

async function* numbers(count: number) {
  for (let n = 0; n < count; n++) yield n;
}

describe('answers in order', () => {
  it('come in the order of the requests, whichever is ready first', async () => {
    const gates = Array.from({ length: 3 }, () => Promise.withResolvers<void>());
    const answers = answerInOrder({
      requests: numbers(3),
      answer: async (n) => gates[n]?.promise.then(() => n),
      maxAtOnce: 10,
      stopping: never,
    });
    for (const gate of gates.toReversed()) gate.resolve();
    expect(await Array.fromAsync(answers)).toEqual([0, 1, 2]);
  });

  it('do not wait for the next request', async () => {
    async function* oneThenSilence() {
      yield 1;
      await new Promise(() => undefined);
    }
    const requests = oneThenSilence();
    const answers = answerInOrder({ requests, answer: async (n) => n, maxAtOnce: 10, stopping: never });
    expect(await answers.next()).toEqual({ done: false, value: 1 });
    expect(await answers.return(undefined)).toMatchObject({ done: true });
  });

  it('are worked on several at once, and no more than allowed', async () => {
    let running = 0;
    let most = 0;
    const answers = answerInOrder({
      requests: numbers(50),
      answer: async (n) => {
        most = Math.max(most, ++running);
        await new Promise((resolve) => setImmediate(resolve));
        running -= 1;
        return n;
      },
      maxAtOnce: 4,
      stopping: never,
    });
    expect(await Array.fromAsync(answers)).toHaveLength(50);
    expect(most).toBe(4);
  });

  it('end with the failure of a request, after the answers before it', async () => {
    const seen: number[] = [];
    const run = async () => {
      const answer = async (n: number) => {
        if (n === 1) throw new Error('second');
        await new Promise((resolve) => setImmediate(resolve));
        return n;
      };
      for await (const n of answerInOrder({ requests: numbers(5), answer, maxAtOnce: 10, stopping: never }))
        seen.push(n);
    };
    await expect(run()).rejects.toThrow('second');
    expect(seen).toEqual([0]);
  });

  it('hold on to no request that was answered, however long the stream lasts', async () => {
    const read: WeakRef<object>[] = [];
    const rest = Promise.withResolvers<void>();
    async function* requests() {
      for (let n = 0; n < 1_000; n++) {
        const request = { n };
        read.push(new WeakRef(request));
        yield request;
      }
      await rest.promise;
    }
    const stopping = new AbortController().signal;
    const answers = answerInOrder({ requests: requests(), answer: async ({ n }) => n, maxAtOnce: 4, stopping });
    for (let n = 0; n < 1_000; n++) await answers.next();
    await new Promise((resolve) => setImmediate(resolve));
    collectGarbage();
    expect(read.slice(0, 900).filter((request) => request.deref() !== undefined)).toHaveLength(0);
    rest.resolve();
    expect(await answers.next()).toMatchObject({ done: true });
  });

  it('end with the failure of their source', async () => {
    async function* broken() {
      yield 1;
      throw new Error('cut off');
    }
    const answers = answerInOrder({ requests: broken(), answer: async (n) => n, maxAtOnce: 10, stopping: never });
    await expect(Array.fromAsync(answers)).rejects.toThrow('cut off');
  });

  it('end, when told to stop, once every request that was read is answered', async () => {
    const stop = new AbortController();
    const gate = Promise.withResolvers<void>();
    async function* oneThenSilence() {
      yield 1;
      stop.abort();
      await new Promise(() => undefined);
    }
    const answer = (n: number) => gate.promise.then(() => n);
    const answers = answerInOrder({ requests: oneThenSilence(), answer, maxAtOnce: 10, stopping: stop.signal });
    const all = Array.fromAsync(answers);
    setImmediate(gate.resolve);
    expect(await all).toEqual([1]);
  });
});
