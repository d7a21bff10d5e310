import { AsyncLocalStorage } from 'node:async_hooks';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SharedQueries } from './shared-queries.ts';

/**
 * A ledger whose queries end when the test says so. An answer is the ledger's content at the start
 * of the query.
 */
class SlowLedger {
  recorded = 0;
  /** Running queries by key. */
  readonly running = new Map<string, { readonly answer: number; readonly end: (fails: boolean) => void }>();
  begun = 0;

  readonly query = (key: string) => async () => {
    if (this.running.has(key)) throw new Error('two queries of one key run at once');
    this.begun += 1;
    const answer = this.recorded;
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const end = (fails: boolean) => {
      this.running.delete(key);
      if (fails) reject(new Error('the ledger is away'));
      else resolve(answer);
    };
    this.running.set(key, { answer, end });
    return promise;
  };
}

/** Lets everything continue that waits for promises. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

const steps = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('ask' as const), key: fc.constantFrom('a', 'b') }),
    fc.record({ kind: fc.constant('record' as const) }),
    fc.record({ kind: fc.constant('end' as const), key: fc.constantFrom('a', 'b'), fails: fc.boolean() }),
    fc.record({ kind: fc.constant('settle' as const) }),
  ),
  { maxLength: 60, size: 'max' },
);

describe('shared queries', () => {
  it('run one at a time for a key, and each answer has all that was recorded when it was asked for', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (sequence) => {
        const ledger = new SlowLedger();
        const queries = new SharedQueries<number>();
        const answers: Promise<void>[] = [];
        for (const step of sequence) {
          if (step.kind === 'record') ledger.recorded += 1;
          else if (step.kind === 'settle') await settle();
          else if (step.kind === 'end') ledger.running.get(step.key)?.end(step.fails);
          else {
            const least = ledger.recorded;
            const answer = queries.ask(step.key, ledger.query(step.key));
            answers.push(
              answer.then(
                (seen) => expect(seen).toBeGreaterThanOrEqual(least),
                (thrown: unknown) => expect(thrown).toMatchObject({ message: 'the ledger is away' }),
              ),
            );
          }
        }
        // For each key, one query may run and one may follow.
        for (let rounds = 0; rounds < 3; rounds += 1) {
          await settle();
          for (const { end } of [...ledger.running.values()]) end(false);
        }
        await Promise.all(answers);
        expect(ledger.begun).toBeLessThanOrEqual(answers.length);
        // Nothing remains of answered queries: the next one runs at once.
        const before = ledger.begun;
        void queries.ask('a', ledger.query('a'));
        expect(ledger.begun).toBe(before + 1);
      }),
      { numRuns: 300 },
    );
  });

  it('are two for any number of those who ask together', async () => {
    const ledger = new SlowLedger();
    const queries = new SharedQueries<number>();
    const answers = Array.from({ length: 1_000 }, () => queries.ask('a', ledger.query('a')));
    expect(ledger.begun).toBe(1);
    ledger.recorded = 7;
    ledger.running.get('a')?.end(false);
    await settle();
    ledger.running.get('a')?.end(false);
    expect(await Promise.all(answers)).toEqual([0, ...Array(999).fill(7)]);
    expect(ledger.begun).toBe(2);
  });

  it('do not wait for those of other keys', async () => {
    const ledger = new SlowLedger();
    const queries = new SharedQueries<number>();
    void queries.ask('a', ledger.query('a'));
    void queries.ask('b', ledger.query('b'));
    expect([...ledger.running.keys()]).toEqual(['a', 'b']);
  });

  it('go on after one that failed, also at once', async () => {
    const queries = new SharedQueries<string>();
    const failing = queries.ask('a', () => {
      throw new Error('at once');
    });
    const next = queries.ask('a', async () => 'answered');
    await expect(failing).rejects.toThrow('at once');
    expect(await next).toBe('answered');
  });

  it('are run for the last of those who share one, as part of its request', async () => {
    const requests = new AsyncLocalStorage<string>();
    const queries = new SharedQueries<string | undefined>();
    const query = async () => requests.getStore();
    const answers = ['first', 'second', 'third'].map((name) => requests.run(name, () => queries.ask('a', query)));
    expect(await Promise.all(answers)).toEqual(['first', 'third', 'third']);
  });
});
