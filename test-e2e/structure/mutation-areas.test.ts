import { globSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { areas } from '../mutation/areas.ts';

const root = join(import.meta.dirname, '../..');

describe.each(Object.entries(areas))('the area %s of mutation testing', (_, { mutate, tests }) => {
  it.each([...mutate, ...tests])('has files for %s', (pattern) => {
    expect(globSync(pattern, { cwd: root })).not.toEqual([]);
  });

  it('has only tests among its tests, and code besides tests', () => {
    expect(
      tests.flatMap((pattern) => globSync(pattern, { cwd: root })).filter((file) => !file.endsWith('.test.ts')),
    ).toEqual([]);
    const code = mutate.flatMap((pattern) => globSync(pattern, { cwd: root }));
    expect(code.filter((file) => !file.endsWith('.test.ts'))).not.toEqual([]);
  });
});
