import { expect, it } from 'vitest';
import { hitsInPool } from './hits.ts';

const accounts = ['team-a', 'team-b', 'batch'].map((name) => ({ id: `responses/${name}`, name }));
const found = (text: string) => hitsInPool('responses', accounts, text).map(({ kind, name }) => `${kind} ${name}`);

it('finds a pool and its accounts by any part of their names', () => {
  expect(found('RESP')).toEqual(['Pool responses']);
  expect(found('team')).toEqual(['Account responses/team-a', 'Account responses/team-b']);
  expect(found('responses/b')).toEqual(['Account responses/batch']);
  expect([found('e'), found(''), found('seat')]).toEqual([
    ['Pool responses', 'Account responses/team-a', 'Account responses/team-b'],
    [],
    [],
  ]);
});

it('leads to the page that shows the account', () => {
  expect(hitsInPool('responses', accounts, 'batch')[0]?.to).toBe('/pools/responses?account=responses%2Fbatch');
});
