import { ManualTime } from '@gateway/time/simulated';
import { describe, expect, it } from 'vitest';
import { FaultBook, type FaultTarget } from './fault-book.ts';
import type { FaultScript } from './fault-script.ts';

describe('FaultBook', () => {
  it('is for the requests it names only', () => {
    const { book, kindsFor } = bookWith({ account: 'a', model: 'm', fault: { kind: 'reset' } });
    expect(kindsFor({ account: 'b' })).toBe(undefined);
    expect(kindsFor({ model: 'other' })).toBe(undefined);
    expect(kindsFor({})).toBe('reset');
    expect(book.list()).toHaveLength(1);
  });

  it('leaves paths that generate nothing alone, unless they are named', () => {
    const { book, kindsFor } = bookWith({ fault: { kind: 'reset' } });
    expect(kindsFor({ path: '/v1/models' })).toBe(undefined);
    book.add({ path: '/v1/models', fault: { kind: 'stall' } });
    expect(kindsFor({ path: '/v1/models' })).toBe('stall');
  });

  it('is injected so many times, one after the other in the order they were added', () => {
    const { kindsFor } = bookWith({ times: 2, fault: { kind: 'reset' } }, { times: 1, fault: { kind: 'stall' } });
    expect([kindsFor({}), kindsFor({}), kindsFor({}), kindsFor({})]).toEqual(['reset', 'reset', 'stall', undefined]);
  });

  it('does not count a fault that was not used', () => {
    const { book, target } = bookWith({ times: 1, fault: { kind: 'reset' } });
    book.match(target);
    expect(book.match(target).ending).toEqual({ kind: 'reset' });
  });

  it('combines faults that change an answer with one that ends it', () => {
    const { book, target } = bookWith(
      { fault: { kind: 'delay', betweenEventsMs: 5 } },
      { fault: { kind: 'usage_missing' } },
      { fault: { kind: 'headers', headers: { x: 'y' } } },
      { fault: { kind: 'end' } },
    );
    const { delay, kinds, headers, ending } = book.match(target);
    expect([delay?.betweenEventsMs, [...kinds], headers, ending?.kind]).toEqual([
      5,
      ['delay', 'usage_missing', 'headers', 'end'],
      { x: 'y' },
      'end',
    ]);
  });

  it('keeps faults of streams for streams', () => {
    const { kindsFor } = bookWith({ fault: { kind: 'reset', afterEvents: 3 } }, { fault: { kind: 'failed' } });
    expect([kindsFor({ stream: false }), kindsFor({})]).toEqual([undefined, 'reset']);
  });

  it('ends when its time is over, and a limit when it resets', () => {
    using time = new ManualTime(halfPastASecondMs);
    const { kindsFor } = bookWith(
      { forSeconds: 5, fault: { kind: 'reset' } },
      { fault: { preset: 'usage_limit_reached', resetAfterSeconds: 10 } },
    );
    expect(kindsFor({})).toBe('reset');
    time.advanceMs(5000);
    expect(kindsFor({})).toBe('preset');
    time.advanceMs(5499);
    expect(kindsFor({})).toBe('preset');
    time.advanceMs(1);
    expect(kindsFor({})).toBe(undefined);
  });

  it('forgets one fault, or all', () => {
    const { book, kindsFor } = bookWith({ fault: { kind: 'reset' } }, { fault: { kind: 'stall' } });
    book.clear(book.list()[0]?.id);
    expect(kindsFor({})).toBe('stall');
    book.clear();
    expect(kindsFor({})).toBe(undefined);
  });
});

const halfPastASecondMs = 1_000_500;

function bookWith(...scripts: readonly FaultScript[]) {
  const book = new FaultBook();
  for (const script of scripts) book.add(script);
  const target: FaultTarget = { account: 'a', path: '/v1/responses', model: 'm', stream: true };
  const kindsFor = (changes: Partial<FaultTarget>) => {
    const matched = book.match({ ...target, ...changes });
    matched.consume();
    return matched.ending?.kind;
  };
  return { book, target, kindsFor };
}
