import type { ClassConfig, PoolConfig, PoolFormat } from '@gateway/config';
import { describe, expect, it } from 'vitest';
import { listModels, type PoolModels } from './list-models.ts';

const pool = (name: string, format: PoolFormat): PoolConfig => ({
  name,
  format,
  ownedBy: `owner of ${name}`,
  baseUrl: 'http://127.0.0.1:1',
  simulated: false,
  modelPatterns: [],
  modelTraits: [],
});

const offering = (config: PoolConfig, ...ids: string[]): PoolModels => ({
  pool: config,
  reachable: true,
  models: ids.map((id) => ({ id, displayName: '' })),
});

const outOfSight = (models: PoolModels): PoolModels => ({ ...models, reachable: false });

const classOf = (name: string, ...candidates: (readonly [string, string])[]): ClassConfig => ({
  id: `gateway/${name.toLowerCase()}`,
  name,
  effort: 'low',
  candidates: candidates.map(([candidatePool, model]) => ({ pool: candidatePool, model })),
});

const namesIn = (pools: readonly PoolModels[], classes: readonly ClassConfig[] = []) =>
  Object.fromEntries(listModels(classes, pools).map(({ id, name }) => [id, name]));

const one = pool('one', 'responses');
const two = pool('two', 'responses');
const three = pool('three', 'messages');

describe('the list of models', () => {
  it('has a model that several pools offer once, as the first of them owns it', () => {
    const list = listModels([], [offering(three, 'same'), offering(one, 'm1', 'same'), offering(two, 'm2', 'm1')]);
    expect(list.map(({ id, ownedBy }) => `${id}: ${ownedBy}`)).toEqual([
      'm1: owner of one',
      'same: owner of one',
      'm2: owner of two',
    ]);
  });

  it('degrades each pool by itself', () => {
    const classes = [classOf('Fast', ['one', 'm1'], ['two', 'm9']), classOf('Slow', ['one', 'm3'], ['three', 'c1'])];
    const pools = [offering(one, 'm1', 'm2'), offering(two, 'm4'), offering(three, 'c1', 'c2')];
    const idsOf = (list: readonly PoolModels[]) => listModels(classes, list).map(({ id }) => id);
    const [first, second, third] = pools.map(outOfSight) as [PoolModels, PoolModels, PoolModels];
    const both = ['gateway/fast', 'gateway/slow'];
    expect(idsOf([first, ...pools.slice(1)])).toEqual([...both, 'm1', 'm3', 'm4', 'c1', 'c2']);
    expect(idsOf([...pools.slice(0, 2), third])).toEqual([...both, 'm1', 'm2', 'm4']);
    expect(idsOf([first, second, third])).toEqual([...both, 'm1', 'm3', 'm9']);
  });

  it('has a model once that several classes use while its pool is out of sight', () => {
    const classes = [classOf('Fast', ['one', 'm1']), classOf('Slow', ['one', 'm1'])];
    expect(listModels(classes, [outOfSight(offering(one))]).map(({ id }) => id)).toEqual([
      'gateway/fast',
      'gateway/slow',
      'm1',
    ]);
  });

  it('names a snapshot with its date only as long as another listed model has the name', () => {
    const dated = 'claude-haiku-4-5-20251001';
    expect(namesIn([offering(three, dated)])).toEqual({ [dated]: 'Claude Haiku 4.5' });
    expect(namesIn([offering(three, dated, 'claude-haiku-4-5')])).toEqual({
      [dated]: 'Claude Haiku 4.5 (2025-10-01)',
      'claude-haiku-4-5': 'Claude Haiku 4.5',
    });
    expect(namesIn([outOfSight(offering(three, dated, 'claude-haiku-4-5')), offering(one, dated)])).toEqual({
      [dated]: 'Claude Haiku 4.5',
    });
  });

  it('names snapshots differently across pools, and from classes', () => {
    const snapshots = [offering(one, 'gpt-6-2027-01-02'), offering(three, 'gpt-6-20270304')];
    expect(namesIn(snapshots)).toEqual({
      'gpt-6-2027-01-02': 'GPT-6 (2027-01-02)',
      'gpt-6-20270304': 'GPT-6 (2027-03-04)',
    });
    expect(namesIn([offering(one, 'gpt-6-2027-01-02')], [classOf('GPT-6', ['one', 'x'])])).toMatchObject({
      'gateway/gpt-6': 'GPT-6',
      'gpt-6-2027-01-02': 'GPT-6 (2027-01-02)',
    });
  });

  it('keeps the names that providers give, dates of snapshots apart', () => {
    const models = [
      { id: 'claude-x-20260101', displayName: 'Claude X' },
      { id: 'claude-x', displayName: 'Claude X' },
      { id: 'claude-y-20260101', displayName: 'Claude Y 20260101' },
      { id: 'claude-z', displayName: 'Claude Z (2026-01-01)' },
    ];
    expect(namesIn([{ pool: three, reachable: true, models }])).toEqual({
      'claude-x-20260101': 'Claude X (2026-01-01)',
      'claude-x': 'Claude X',
      'claude-y-20260101': 'Claude Y',
      'claude-z': 'Claude Z (2026-01-01)',
    });
  });
});
