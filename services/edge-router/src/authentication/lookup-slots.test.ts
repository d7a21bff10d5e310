import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LookupSlots } from './lookup-slots.ts';

const tooMany = expect.objectContaining({ code: 'providers_unavailable' });

/** Lookups that end when the test says so, and the order in which they ran. */
function setUp(options: Partial<ConstructorParameters<typeof LookupSlots>[0]> = {}) {
  const slots = new LookupSlots({ waitMs: 1_000, atATime: 2, maxPerPeer: 5, maxWaiting: 12, ...options });
  const running: { readonly peer: string; readonly end: (fails: boolean) => void }[] = [];
  const begun: string[] = [];
  const ask = (peer: string, name = peer) =>
    slots.run(peer, async () => {
      begun.push(name);
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      running.push({ peer, end: (fails) => (fails ? reject(new Error('away')) : resolve(name)) });
      return promise;
    });
  /** Ends the lookup that has run longest. */
  const endOne = async (fails = false) => {
    running.shift()?.end(fails);
    await vi.advanceTimersByTimeAsync(0);
  };
  return { ask, endOne, running, begun };
}

describe('lookups of unknown tokens', () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  it('run up to their number at once, and the others in the order in which they came', async () => {
    const { ask, endOne, begun } = setUp();
    const answers = ['a', 'b', 'c', 'd'].map((name) => ask('peer', name));
    expect(begun).toEqual(['a', 'b']);
    for (let n = 0; n < 4; n += 1) await endOne();
    expect(begun).toEqual(['a', 'b', 'c', 'd']);
    expect(await Promise.all(answers)).toEqual(['a', 'b', 'c', 'd']);
  });

  it('of a peer come next, however many others send, when it is its turn', async () => {
    const { ask, endOne, begun } = setUp();
    const flood = Array.from({ length: 7 }, (_, n) => ask('flood', `flood ${n}`));
    const others = [ask('one'), ask('other')];
    for (let n = 0; n < 9; n += 1) await endOne();
    await Promise.all([...flood, ...others]);
    expect(begun.slice(0, 6)).toEqual(['flood 0', 'flood 1', 'flood 2', 'one', 'other', 'flood 3']);
  });

  it('are refused when too many of a peer wait, and those of others are not', async () => {
    const { ask, endOne } = setUp();
    const answers = Array.from({ length: 7 }, () => ask('flood'));
    await expect(ask('flood')).rejects.toEqual(tooMany);
    const other = ask('other');
    for (let n = 0; n < 8; n += 1) await endOne();
    await Promise.all([...answers, other]);
  });

  it('are refused when too many wait in all', async () => {
    const { ask, endOne } = setUp();
    const answers = Array.from({ length: 14 }, (_, n) => ask(`peer ${n}`));
    await expect(ask('another peer')).rejects.toEqual(tooMany);
    for (let n = 0; n < 14; n += 1) await endOne();
    await Promise.all(answers);
  });

  it('are refused when they have waited too long, and leave their places', async () => {
    const { ask, endOne, begun } = setUp();
    const first = [ask('a'), ask('b')];
    const late = expect(ask('late')).rejects.toEqual(tooMany);
    await vi.advanceTimersByTimeAsync(1_000);
    await late;
    const next = ask('next');
    await endOne();
    await endOne();
    await endOne();
    await Promise.all([...first, next]);
    expect(begun).toEqual(['a', 'b', 'next']);
  });

  it('leave the event loop to others after each turn, also where they are answered at once', async () => {
    vi.useRealTimers();
    const slots = new LookupSlots({ waitMs: 60_000, atATime: 2 });
    let ended = 0;
    const lookups = Array.from({ length: 6 }, () =>
      slots.run('flood', async () => {
        ended += 1;
      }),
    );
    await eventLoopTurn();
    expect(ended).toBe(2);
    await Promise.all(lookups);
    expect(ended).toBe(6);
  });

  it('never run beyond their number, all end, and nothing is left of them', async () => {
    const steps = fc.array(
      fc.oneof(
        fc.record({ kind: fc.constant('ask' as const), peer: fc.constantFrom('a', 'b', 'c') }),
        fc.record({ kind: fc.constant('end' as const), fails: fc.boolean() }),
        fc.record({ kind: fc.constant('time' as const), ms: fc.constantFrom(1, 400, 1_000) }),
      ),
      { maxLength: 80, size: 'max' },
    );
    await fc.assert(
      fc.asyncProperty(steps, async (sequence) => {
        const { ask, endOne, running } = setUp();
        let pending = 0;
        for (const step of sequence) {
          if (step.kind === 'time') await vi.advanceTimersByTimeAsync(step.ms);
          else if (step.kind === 'end') await endOne(step.fails);
          else {
            pending += 1;
            const done = () => {
              pending -= 1;
            };
            void ask(step.peer).then(done, done);
          }
          expect(running.length).toBeLessThanOrEqual(2);
          // A slot is never idle while a lookup waits.
          if (pending >= 2 && step.kind !== 'ask') expect(running.length).toBe(2);
        }
        while (running.length > 0) await endOne();
        expect(pending).toBe(0);
        // Both slots are free again.
        void ask('a');
        void ask('b');
        expect(running.length).toBe(2);
      }),
      { numRuns: 200 },
    );
  });
});
