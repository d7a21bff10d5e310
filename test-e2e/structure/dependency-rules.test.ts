import { describe, expect, it } from 'vitest';
import { undeclaredDependencies, unusedDependencies } from './dependency-rules.ts';
import { importing, madeUpTree } from './made-up-tree.ts';
import { violationText } from './source-tree.ts';

const root = { 'package.json': JSON.stringify({ name: 'root', devDependencies: { vitest: '1.0.0' } }) };
const packages = {
  'libs/rpc': ['express', '@types/express'],
  'libs/testkit': [],
  'services/limiter': ['@gateway/rpc'],
};

describe('imported packages', () => {
  const check = (file: string, specifier: string) =>
    undeclaredDependencies(madeUpTree(packages, { ...root, [file]: importing(specifier) })).map(violationText);

  it.each([
    ['libs/rpc/src/a.ts', 'express/router'],
    ['libs/rpc/src/a.ts', 'node:fs'],
    ['services/limiter/src/a.ts', '@gateway/rpc/grpc'],
    ['libs/rpc/src/a.test.ts', 'vitest'],
    ['services/limiter/test/a.test.ts', 'vitest'],
    ['libs/testkit/src/a.ts', 'vitest/node'],
    ['vitest.config.ts', 'vitest/config'],
    ['deploy/scripts/a.ts', '@gateway/rpc'],
  ])('are declared when %s imports %s', (file, specifier) => {
    expect(check(file, specifier)).toEqual([]);
  });

  it.each([
    ['libs/rpc/src/a.ts', 'pg', 'libs/rpc'],
    ['libs/rpc/src/a.ts', 'vitest', 'libs/rpc'],
    ['libs/rpc/src/a.test.ts', '@gateway/testkit', 'libs/rpc'],
    ['services/limiter/src/a.ts', 'express', 'services/limiter'],
    ['deploy/scripts/a.ts', 'pg', 'the root'],
  ])('are missing when %s imports %s', (file, specifier, owner) => {
    expect(check(file, specifier)).toEqual([
      `${file}: imports ${specifier}, which ${owner}/package.json doesn't declare`,
    ]);
  });
});

describe('declared packages of ours', () => {
  it('must be imported', () => {
    expect(unusedDependencies(madeUpTree(packages)).map(violationText)).toEqual([
      'services/limiter/package.json: declares @gateway/rpc, which nothing imports',
    ]);
  });

  it('may be imported by tests only', () => {
    const tree = madeUpTree(packages, { 'services/limiter/test/a.test.ts': importing('@gateway/rpc') });
    expect(unusedDependencies(tree)).toEqual([]);
  });
});
