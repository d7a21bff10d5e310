import { describe, expect, it } from 'vitest';
import { importing, madeUpTree } from './made-up-tree.ts';
import { developmentPackagesInProduction, productionCodeOnDevelopmentPackages } from './production-rules.ts';
import { violationText } from './source-tree.ts';

const manifest = (name: string, dependencies: string[], devDependencies: string[]) => {
  const versions = (names: string[]) => Object.fromEntries(names.map((each) => [each, '1.0.0']));
  return JSON.stringify({ name, dependencies: versions(dependencies), devDependencies: versions(devDependencies) });
};
const limiter = { 'services/limiter/package.json': manifest('@gateway/limiter', ['express'], ['openai']) };

describe('imports of production code', () => {
  const check = (file: string, text: string) =>
    productionCodeOnDevelopmentPackages(madeUpTree({}, { ...limiter, [file]: text })).map(violationText);

  it.each([
    ['services/limiter/src/a.ts', importing('express')],
    ['services/limiter/src/a.ts', importing('@gateway/limiter/config')],
    ['services/limiter/src/a.ts', importing('openai').replace('import', 'import type')],
    ['services/limiter/src/a.test.ts', importing('openai')],
    ['services/limiter/src/__fixtures__/a.ts', importing('openai')],
  ])('is installed for %s: %s', (file, text) => {
    expect(check(file, text)).toEqual([]);
  });

  it.each([importing('openai'), importing('openai').replace('{', '{ type One,'), `await ${'import'}('openai');`])(
    'is missing without the packages of development: %s',
    (text) => {
      expect(check('services/limiter/src/a.ts', text)).toEqual([
        "services/limiter/src/a.ts: imports openai, which npm ci --omit=dev doesn't install for services/limiter",
      ]);
    },
  );
});

describe('dependencies', () => {
  const check = (files: Readonly<Record<string, string>>) =>
    developmentPackagesInProduction(madeUpTree({}, files)).map(violationText);

  it('are loaded by production code', () => {
    expect(check({ ...limiter, 'services/limiter/src/a.ts': importing('express') })).toEqual([]);
  });

  it.each([
    ['tests alone', 'services/limiter/src/a.test.ts', importing('express')],
    ['types alone', 'services/limiter/src/a.ts', importing('express').replace('import', 'import type')],
    ['nothing', 'services/limiter/src/a.ts', ''],
  ])('are for development when they are loaded by %s', (_, file, text) => {
    expect(check({ ...limiter, [file]: text })).toEqual([
      'services/limiter/package.json: has express in its dependencies, which no code loads in production',
    ]);
  });

  it('are none in code that only runs during development', () => {
    const testkit = { 'libs/testkit/package.json': manifest('@gateway/testkit', ['pg'], []) };
    expect(check({ ...testkit, 'libs/testkit/src/a.ts': importing('pg') })).toHaveLength(1);
  });
});
