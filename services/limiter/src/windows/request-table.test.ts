import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RequestTable } from './request-table.ts';

const uuids = Array.from({ length: 6 }, () => randomUUID());
const sameButForOneBit = ['00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000001'];
const requestId = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...uuids, ...sameButForOneBit) },
  // Almost UUIDs, which are other ids than those they look like.
  { weight: 1, arbitrary: fc.constantFrom(...uuids).map((uuid) => uuid.toUpperCase()) },
  { weight: 1, arbitrary: fc.constantFrom(...uuids).map((uuid) => uuid.replace('-', '0')) },
  { weight: 1, arbitrary: fc.constantFrom('', 'a', 'request-1', 'é'.repeat(50), '0'.repeat(36), '-'.repeat(36)) },
  { weight: 1, arbitrary: fc.uuid() },
  { weight: 1, arbitrary: fc.string({ maxLength: 100 }) },
);
const owner = fc.constantFrom(0, 1, 2 ** 32 - 2);
const entry = fc.record({ requestId, owner, number: fc.double({ noNaN: true }) });
const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ verb: fc.constant('set'), entry }) },
  { weight: 3, arbitrary: fc.record({ verb: fc.constant('delete'), entry }) },
  { weight: 2, arbitrary: fc.record({ verb: fc.constant('delete oldest'), entry }) },
  { weight: 2, arbitrary: fc.record({ verb: fc.constant('get'), entry }) },
  { weight: 1, arbitrary: fc.record({ verb: fc.constant('at'), entry }) },
);

type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** The same as a Map from owner and id, which keeps its order but for what is set again. */
class Model {
  readonly entries = new Map<string, Step['entry']>();

  take({ verb, entry }: Step): unknown {
    const name = `${entry.owner} ${entry.requestId}`;
    switch (verb) {
      case 'set':
        this.entries.delete(name);
        return void this.entries.set(name, entry);
      case 'delete':
        return this.#taken(name);
      case 'delete oldest':
        return void this.entries.delete([...this.entries.keys()][0] ?? 'none');
      case 'get':
        return [this.entries.get(name)?.number, this.entries.has(name)];
      case 'at':
        return [0, 1, 5].map((index) => [...this.entries.values()][index]?.number);
    }
  }

  #taken(name: string): number | undefined {
    const number = this.entries.get(name)?.number;
    this.entries.delete(name);
    return number;
  }
}

function take(table: RequestTable, { verb, entry: { requestId, owner, number } }: Step): unknown {
  switch (verb) {
    case 'set':
      return table.has(requestId, owner) ? table.set(requestId, number, owner) : table.add(requestId, number, owner);
    case 'delete':
      return table.delete(requestId, owner);
    case 'delete oldest':
      return table.deleteOldest();
    case 'get':
      return [table.get(requestId, owner), table.has(requestId, owner)];
    case 'at':
      return [0, 1, 5].map((index) => table.at(index));
  }
}

describe('a table of requests', () => {
  it('does what a map does that puts at its end whatever is set', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const table = new RequestTable();
        const model = new Model();
        for (const one of steps) {
          expect(take(table, one)).toEqual(model.take(one));
          expect(table.size).toBe(model.entries.size);
        }
        expect([...table]).toEqual([...model.entries.values()].map((each) => [each.requestId, each.number]));
        table.clear();
        expect([table.size, ...table]).toEqual([0]);
      }),
      { numRuns: 3_000 },
    );
  });

  it.each([
    { name: 'UUIDs', idOf: () => randomUUID() },
    { name: 'texts that differ in their last characters', idOf: (n: number) => `request-${n}` },
    { name: 'UUIDs that count', idOf: (n: number) => `0199a7c2-5a1b-7000-8000-${n.toString(16).padStart(12, '0')}` },
  ])('stays right while many $name come and go', ({ idOf }) => {
    const table = new RequestTable();
    const ids = Array.from({ length: 20_000 }, (_, n) => idOf(n));
    const kept = 3_000;
    for (const [n, id] of ids.entries()) {
      expect(table.has(id)).toBe(false);
      if (n % 2 === 0) table.set(id, n);
      else table.add(id, n);
      if (n >= kept) table.deleteOldest();
    }
    expect([...table]).toEqual(ids.map((id, n) => [id, n]).slice(-kept));
    expect(ids.filter((id) => table.has(id))).toEqual(ids.slice(-kept));
    expect(table.at(0)).toBe(ids.length - kept);
  });
});
