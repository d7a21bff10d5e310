import { importsOf, packageOf } from './imports-of.ts';
import { isTest, type SourceTree, type Violation } from './source-tree.ts';
import { type Workspace, workspaceOf, workspacesOf } from './workspaces.ts';

// `npm ci --omit=dev` installs the `dependencies` of every workspace: all packages that production
// code loads, and no others.

/** They run only during development, so all of their dependencies are for development. */
const forDevelopment: readonly string[] = ['libs/testkit', 'test-e2e'];

/** Peer dependencies: no file imports them, but another package needs them from its user. */
const askedForByOthers: Readonly<Record<string, string>> = {
  '@connectrpc/connect-node': '@connectrpc/connect-express',
};

/**
 * Production code does not use packages that are only installed for development; it may use their
 * types.
 */
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

/** Packages that only tests and tools load are not installed in production. */
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
