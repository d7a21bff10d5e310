import { describe, expect, it } from 'vitest';
import { Dialogue, type DialogueChannel, type DialogueMessage } from './dialogue.ts';

interface Sums {
  double(value: number): number;
  fail(value: undefined): never;
  wait(value: undefined): Promise<number>;
}

interface Names {
  greet(name: string): Promise<string>;
}

/** Both ends of a channel; what one sends the other gets in a later turn, as a copy. */
function channelPair(): readonly [DialogueChannel, DialogueChannel] {
  const listeners: ((message: unknown) => void)[][] = [[], []];
  const end = (own: number): DialogueChannel => ({
    send: (message: DialogueMessage) => {
      const copy = structuredClone(message);
      setImmediate(() => {
        for (const listener of listeners[1 - own] ?? []) listener(copy);
      });
    },
    listen: (onMessage) => listeners[own]?.push(onMessage),
  });
  return [end(0), end(1)];
}

function pair() {
  const [one, other] = channelPair();
  const sums: Sums = {
    double: (value) => value * 2,
    fail: () => {
      throw new Error('it does not add up');
    },
    wait: () => new Promise<number>(() => undefined),
  };
  const names: Names = { greet: async (name) => `hello ${name}` };
  return { sums: new Dialogue<Names, Sums>(one, names), names: new Dialogue<Sums, Names>(other, sums) };
}

describe('a dialogue of two processes', () => {
  it('goes both ways, with many questions open at a time', async () => {
    const { sums, names } = pair();
    const answers = await Promise.all([1, 2, 3].map((value) => sums.ask('double', value, 1_000)));
    expect(answers).toEqual([2, 4, 6]);
    expect(await names.ask('greet', 'you', 1_000)).toBe('hello you');
  });

  it('tells the one who asks why there is no answer', async () => {
    await expect(pair().sums.ask('fail', undefined, 1_000)).rejects.toMatchObject({
      status: 'internal',
      message: 'it does not add up',
    });
  });

  it('gives up a question that is not answered in time', async () => {
    await expect(pair().sums.ask('wait', undefined, 10)).rejects.toMatchObject({ status: 'deadline_exceeded' });
  });

  it('fails what is open, and what is asked later, when the other side is gone', async () => {
    const { sums } = pair();
    const open = sums.ask('wait', undefined, 1_000);
    sums[Symbol.dispose]();
    await expect(open).rejects.toMatchObject({ status: 'unavailable' });
    await expect(sums.ask('double', 1, 1_000)).rejects.toMatchObject({ status: 'unavailable' });
  });
});
