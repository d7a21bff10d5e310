import { describe, expect, it } from 'vitest';
import {
  circlesAmongLibraries,
  importsAgainstTheLayers,
  modulesOfNodeInBrowsers,
  pathsIntoOtherPackages,
} from './import-rules.ts';
import { importing, madeUpTree } from './made-up-tree.ts';
import { violationText } from './source-tree.ts';

const packages = {
  proto: [],
  'libs/rpc': [],
  'libs/errors': [],
  'libs/presentation': [],
  'libs/time': [],
  'services/limiter': [],
  'services/identity': [],
  'services/admin': [],
  'services/admin/console': [],
  'services/all-in-one': [],
  'services/gatewayctl': [],
  'test-e2e': [],
};

describe('code for browsers', () => {
  const check = (file: string, specifier: string) =>
    modulesOfNodeInBrowsers(madeUpTree(packages, { [file]: importing(specifier) })).map(violationText);

  it("has no modules of Node's", () => {
    expect(check('libs/presentation/src/a.ts', 'node:fs')).toEqual([
      "libs/presentation/src/a.ts: imports node:fs, which browsers don't have",
    ]);
    expect(check('libs/presentation/src/a.ts', 'fs')).toHaveLength(1);
    expect(check('libs/presentation/src/a.ts', '@bufbuild/protobuf')).toEqual([]);
    expect(check('libs/rpc/src/a.ts', 'node:fs')).toEqual([]);
  });
});

describe('the direction of imports', () => {
  const check = (file: string, specifier: string) =>
    importsAgainstTheLayers(madeUpTree(packages, { [file]: importing(specifier) })).map(violationText);

  it.each([
    ['libs/rpc/src/a.ts', '@gateway/proto/limiter/v2/limit_pb.js'],
    ['libs/rpc/src/a.ts', '@gateway/errors'],
    ['services/limiter/src/a.ts', '@gateway/rpc/grpc'],
    ['services/all-in-one/src/a.ts', '@gateway/limiter/service'],
    ['services/gatewayctl/src/a.ts', '@gateway/all-in-one/start'],
    ['test-e2e/suite/a.ts', '@gateway/rpc'],
    ['deploy/scripts/a.ts', '@gateway/rpc'],
    ['services/limiter/src/a.ts', 'express'],
    ['services/admin/console/src/a.tsx', '@gateway/proto/admin/v1/token_service_pb.js'],
    ['services/admin/console/src/a.tsx', '@gateway/presentation'],
    ['services/gatewayctl/src/a.ts', '@gateway/presentation'],
  ])('lets %s import %s', (file, specifier) => {
    expect(check(file, specifier)).toEqual([]);
  });

  it.each([
    ['proto/a.ts', '@gateway/rpc'],
    ['libs/rpc/src/a.ts', '@gateway/limiter/service'],
    ['libs/rpc/src/a.ts', '@gateway/test-e2e'],
    ['services/limiter/src/a.ts', '@gateway/identity/service'],
    ['services/limiter/src/a.ts', '@gateway/all-in-one/start'],
    ['services/limiter/test/a.test.ts', '@gateway/identity/service'],
    ['services/gatewayctl/src/a.ts', '@gateway/test-e2e'],
    ['deploy/scripts/a.ts', '@gateway/limiter/service'],
    ['services/admin/console/src/a.tsx', '@gateway/rpc'],
    ['libs/presentation/src/a.ts', '@gateway/errors'],
    ['services/admin/console/src/a.tsx', '@gateway/admin/parts'],
  ])('forbids %s to import %s', (file, specifier) => {
    expect(check(file, specifier)).toEqual([expect.stringContaining(`${file}: imports ${specifier}`)]);
  });

  it.each([
    'import type { A } from "@gateway/identity/service";',
    "export * from '@gateway/identity/service';",
    "export type {\n  A,\n  B,\n} from '@gateway/identity/service';",
    "import '@gateway/identity/service';",
    `const a = await ${'import'}('@gateway/identity/service');`,
    `let a: ${'import'}('@gateway/identity/service').A;`,
  ])('sees %s', (source) => {
    expect(importsAgainstTheLayers(madeUpTree(packages, { 'services/limiter/src/a.ts': source }))).toHaveLength(1);
  });

  it.each([
    "// import { a } from '@gateway/identity/service';",
    "/** import { a } from '@gateway/identity/service'; */",
  ])('takes no notice of %s', (source) => {
    expect(importsAgainstTheLayers(madeUpTree(packages, { 'services/limiter/src/a.ts': source }))).toEqual([]);
  });
});

describe('relative imports', () => {
  const check = (file: string, specifier: string) =>
    pathsIntoOtherPackages(madeUpTree(packages, { [file]: importing(specifier) })).map(violationText);

  it('may go anywhere in the own package', () => {
    expect(check('libs/rpc/test/a.test.ts', '../src/grpc.ts')).toEqual([]);
    expect(check('deploy/scripts/a.ts', '../docker/b.ts')).toEqual([]);
  });

  it.each([
    ['libs/rpc/src/a.ts', '../../errors/src/index.ts'],
    ['services/limiter/src/a.ts', '../../../libs/rpc/src/index.ts'],
    ['test-e2e/suite/a.test.ts', '../../deploy/scripts/b.ts'],
    ['deploy/scripts/a.ts', '../../libs/rpc/src/index.ts'],
    ['libs/rpc/src/a.ts', '../../../vitest.config.ts'],
  ])('may not lead %s to %s', (file, specifier) => {
    expect(check(file, specifier)).toEqual([expect.stringContaining(`${file}: imports ${specifier} by path`)]);
  });
});

describe('circles among libraries', () => {
  it('are found over any number of libraries', () => {
    const tree = madeUpTree(packages, {
      'libs/rpc/src/a.ts': importing('@gateway/errors'),
      'libs/errors/src/a.ts': importing('@gateway/time'),
      'libs/time/src/a.ts': importing('@gateway/rpc/grpc'),
    });
    expect(circlesAmongLibraries(tree).map(violationText)).toContain(
      'libs/rpc: imports itself in a circle: @gateway/rpc → @gateway/errors → @gateway/time → @gateway/rpc',
    );
  });

  it('are not seen where two libraries share a third', () => {
    const tree = madeUpTree(packages, {
      'libs/rpc/src/a.ts': importing('@gateway/errors') + importing('@gateway/time'),
      'libs/errors/src/a.ts': importing('@gateway/time'),
    });
    expect(circlesAmongLibraries(tree)).toEqual([]);
  });
});
