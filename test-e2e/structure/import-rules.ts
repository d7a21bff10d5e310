import { builtinModules } from 'node:module';
import { posix } from 'node:path';
import { type Import, importsOf, packageOf } from './imports-of.ts';
import { isTest, type SourceTree, type Violation } from './source-tree.ts';
import { compositions, type Layer, type Workspace, workspaceOf, workspacesOf } from './workspaces.ts';

/** The layers that each layer may import from. */
const lowerLayers: Record<Layer | 'deploy', readonly Layer[]> = {
  proto: [],
  libs: ['proto', 'libs'],
  services: ['proto', 'libs'],
  // A browser has only the API, and none of the services behind it: see `librariesForBrowsers`.
  console: ['proto'],
  'test-e2e': ['proto', 'libs', 'services', 'conformance'],
  // A product of its own, for any gateway: see `libraryForTests`.
  conformance: [],
  deploy: ['proto', 'libs'],
};

/** They use nothing of Node, and import no other library. */
export const librariesForBrowsers: readonly string[] = ['libs/presentation', 'libs/prices'];

/** Tests of every package may use it. */
const libraryForTests = 'libs/testkit';

/**
 * Imports run one way: proto ← libs ← services ← test-e2e, and services don't import each other.
 */
export function importsAgainstTheLayers(tree: SourceTree): readonly Violation[] {
  const workspaces = workspacesOf(tree);
  return importsOf(tree).flatMap(({ file, specifier }) => {
    const importer = workspaceOf(file, workspaces);
    const imported = workspaces.find(({ name }) => name === packageOf(specifier));
    if (imported === undefined || imported === importer || mayImport(importer, imported)) return [];
    return [
      { file, problem: `imports ${specifier}, but ${importer?.layer ?? 'deploy'} may not import ${imported.folder}` },
    ];
  });
}

function mayImport(importer: Workspace | undefined, imported: Workspace): boolean {
  const isImportedInBrowsers = imported.layer === 'proto' || librariesForBrowsers.includes(imported.folder);
  if (importer !== undefined && librariesForBrowsers.includes(importer.folder)) return isImportedInBrowsers;
  if (importer?.layer === 'console' && isImportedInBrowsers) return true;
  if (importer !== undefined && compositions.includes(importer.folder)) {
    return !['test-e2e', 'conformance'].includes(imported.layer);
  }
  if (importer?.layer === 'conformance') return imported.folder === libraryForTests;
  return lowerLayers[importer?.layer ?? 'deploy'].includes(imported.layer);
}

/** Code that also runs in a browser can't import Node's modules. */
export function modulesOfNodeInBrowsers(tree: SourceTree): readonly Violation[] {
  return importsOf(tree).flatMap(({ file, specifier }) => {
    const isForBrowsers = librariesForBrowsers.some((folder) => file.startsWith(`${folder}/`)) && !isTest(file);
    if (!isForBrowsers || !(specifier.startsWith('node:') || builtinModules.includes(specifier))) return [];
    return [{ file, problem: `imports ${specifier}, which browsers don't have` }];
  });
}

/** A package is imported by its name, which package.json shows; a path would bypass its exports. */
export function pathsIntoOtherPackages(tree: SourceTree): readonly Violation[] {
  const workspaces = workspacesOf(tree);
  return importsOf(tree).flatMap(({ file, specifier }) => {
    if (!specifier.startsWith('.')) return [];
    const target = posix.join(posix.dirname(file), specifier);
    if (ownerOf(target, workspaces) === ownerOf(file, workspaces)) return [];
    return [{ file, problem: `imports ${specifier} by path, which leaves ${ownerOf(file, workspaces)}` }];
  });
}

function ownerOf(path: string, workspaces: readonly Workspace[]): string {
  const folder = workspaceOf(path, workspaces)?.folder;
  return folder ?? (path.startsWith('deploy/') ? 'deploy' : 'the root');
}

/** Libraries import each other without cycles. */
export function circlesAmongLibraries(tree: SourceTree): readonly Violation[] {
  const libraries = workspacesOf(tree).filter(({ layer }) => layer === 'libs');
  const edges = new Map(
    libraries.map((library) => [library.name, librariesImportedBy(library, libraries, importsOf(tree))]),
  );
  return libraries.flatMap(({ folder, name }) => {
    const circle = pathBack(name, name, edges, new Set());
    return circle === undefined
      ? []
      : [{ file: folder, problem: `imports itself in a circle: ${[name, ...circle].join(' → ')}` }];
  });
}

function librariesImportedBy(
  library: Workspace,
  libraries: readonly Workspace[],
  imports: readonly Import[],
): ReadonlySet<string> {
  const own = imports.filter(({ file }) => file.startsWith(`${library.folder}/`));
  const packages = new Set(own.map(({ specifier }) => packageOf(specifier)));
  return new Set(libraries.map(({ name }) => name).filter((name) => packages.has(name) && name !== library.name));
}

function pathBack(
  from: string,
  goal: string,
  edges: ReadonlyMap<string, ReadonlySet<string>>,
  seen: Set<string>,
): readonly string[] | undefined {
  for (const next of edges.get(from) ?? []) {
    if (next === goal) return [next];
    if (seen.has(next)) continue;
    seen.add(next);
    const rest = pathBack(next, goal, edges, seen);
    if (rest !== undefined) return [next, ...rest];
  }
  return undefined;
}
