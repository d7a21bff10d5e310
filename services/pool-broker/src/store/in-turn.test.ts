import { describe, expect, it } from 'vitest';
import { InTurn } from './in-turn.ts';

describe('work in turn', () => {
  it('is done one after the other for the same key, and at once for others', async () => {
    const turns = new InTurn();
    const done: string[] = [];
    const first = Promise.withResolvers<void>();
    const work =
      (name: string, before = Promise.resolve()) =>
      async () => {
        await before;
        done.push(name);
        return name;
      };
    const all = [turns.run('k', work('1', first.promise)), turns.run('k', work('2')), turns.run('other', work('3'))];
    await all[2];
    first.resolve();
    expect(await Promise.all(all)).toEqual(['1', '2', '3']);
    expect(done).toEqual(['3', '1', '2']);
  });

  it('goes on after work that fails, and tells only who asked for that', async () => {
    const turns = new InTurn();
    const failing = turns.run('k', async () => Promise.reject(new Error('lost')));
    const next = turns.run('k', async () => 'done');
    await expect(failing).rejects.toThrow('lost');
    expect(await next).toBe('done');
  });
});
