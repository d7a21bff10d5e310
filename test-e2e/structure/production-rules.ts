import { importsOf, packageOf } from './imports-of.ts';
import { isTest, type SourceTree, type Violation } from './source-tree.ts';
import { type Workspace, workspaceOf, workspacesOf } from './workspaces.ts';

// `npm ci --omit=dev` installs the `dependencies` of every workspace: all that production code loads, and nothing else.

/** They only run while somebody develops, so everything that they need is for development. */
const forDevelopment: readonly string[] = ['libs/testkit', 'test-e2e'];

/** What no file imports, because another package does, and leaves it to its user to install. */
const askedForByOthers: Readonly<Record<string, string>> = {
  '@connectrpc/connect-node': '@connectrpc/connect-express',
};

/** Production code does without what is only installed for development; its types are not there when it runs. */
export function productionCodeOnDevelopmentPackages(tree: SourceTree): readonly Violation[] {
  const workspaces = workspacesOf(tree);
  return importsOf(tree).flatMap(({ file, specifier, isOfTypes }) => {
    const workspace = workspaceOf(file, workspaces);
    const imported = packageOf(specifier);
    if (imported === undefined || isOfTypes || workspace === undefined || !isProduction(file, workspace)) return [];
    if (imported === workspace.name || workspace.productionDependencies.includes(imported)) return [];
    return [{ file, problem: `imports ${imported}, which npm ci --omit=dev doesn't install for ${workspace.folder}` }];
  });
}

/** What nothing but tests and tools load is not installed where the gateway only runs. */
export function developmentPackagesInProduction(tree: SourceTree): readonly Violation[] {
  const imports = importsOf(tree);
  // The code of the contracts is generated, and no part of the tree.
  const written = workspacesOf(tree).filter(({ layer }) => layer !== 'proto');
  return written.flatMap((workspace) => {
    const { folder, productionDependencies } = workspace;
    const loaded = imports.filter(({ file }) => file.startsWith(`${folder}/`) && isProduction(file, workspace));
    const isLoaded = (name: string) =>
      loaded.some(({ specifier, isOfTypes }) => packageOf(specifier) === name && (!isOfTypes || isOurs(name)));
    return productionDependencies
      .filter((name) => !isLoaded(name) && !productionDependencies.includes(askedForByOthers[name] ?? ''))
      .map((name) => ({
        file: `${folder}/package.json`,
        problem: `has ${name} in its dependencies, which no code loads in production`,
      }));
  });
}

function isProduction(file: string, { folder }: Workspace): boolean {
  return !isTest(file) && !forDevelopment.includes(folder);
}

function isOurs(name: string): boolean {
  return name.startsWith('@gateway/');
}
