import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { undeclaredDependencies, unusedDependencies } from './dependency-rules.ts';
import { filesTooLong, namesThatSayNothing } from './file-rules.ts';
import {
  circlesAmongLibraries,
  importsAgainstTheLayers,
  modulesOfNodeInBrowsers,
  pathsIntoOtherPackages,
} from './import-rules.ts';
import { developmentPackagesInProduction, productionCodeOnDevelopmentPackages } from './production-rules.ts';
import { regexesListedInVain, regexesMadeOfTexts, regexesThatBacktrack } from './regex-rules.ts';
import { scriptsWithoutSentence } from './script-rules.ts';
import {
  filesOfOneAdapterOnly,
  missingEndpoints,
  missingHandlers,
  missingPartsOfServices,
  unservedContracts,
} from './service-rules.ts';
import { readSourceTree, type SourceTree, type Violation, violationText } from './source-tree.ts';

import { workspacesOf } from './workspaces.ts';

const rules: Record<string, (tree: SourceTree) => readonly Violation[]> = {
  'imports run one way: proto, libs, services, test-e2e': importsAgainstTheLayers,
  'packages are imported by name, never by path': pathsIntoOtherPackages,
  'libraries import each other without circles': circlesAmongLibraries,
  'every imported package is declared in package.json': undeclaredDependencies,
  'every declared package of ours is imported': unusedDependencies,
  'production code needs no package of development': productionCodeOnDevelopmentPackages,
  'every production dependency is loaded in production': developmentPackagesInProduction,
  'what runs in browsers has no modules of Node': modulesOfNodeInBrowsers,
  'every service has a README, main, config, service and routes': missingPartsOfServices,
  'every RPC has a file in src/rpc': missingHandlers,
  'the two adapters have the same files': filesOfOneAdapterOnly,
  'an HTTP service has its endpoints in src/endpoints': missingEndpoints,
  'every service of the contracts is served': unservedContracts,
  'every script of the root has a sentence in scripts-info': scriptsWithoutSentence,
  'names say what they give': namesThatSayNothing,
  'no source is longer than a person reads': filesTooLong,
  'no regular expression backtracks': regexesThatBacktrack,
  'no regular expression is made of texts': regexesMadeOfTexts,
  'regular expressions that are allowed are there': regexesListedInVain,
};

describe('the repository', () => {
  let tree: SourceTree;

  beforeAll(async () => {
    tree = await readSourceTree(join(import.meta.dirname, '../..'));
  });

  it('is read whole', () => {
    expect(tree.has('libs/rpc/src/index.ts')).toBe(true);
    expect(tree.has('proto/gateway/limiter/v2/limiter_service.proto')).toBe(true);
    expect(workspacesOf(tree).map(({ layer }) => layer)).toEqual(
      expect.arrayContaining(['proto', 'libs', 'services', 'test-e2e']),
    );
  });

  it.each(Object.entries(rules))('%s', (_, rule) => {
    expect(rule(tree).map(violationText)).toEqual([]);
  });
});
