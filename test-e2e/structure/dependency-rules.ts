import { importsOf, packageOf } from './imports-of.ts';
import { isTest, type SourceTree, type Violation } from './source-tree.ts';
import { readPackage, type Workspace, workspaceOf, workspacesOf } from './workspaces.ts';

/** The library of tests may use the root's tools, as tests do. */
const testLibrary = 'libs/testkit';

/** Every package lists its imports in its package.json. */
export function undeclaredDependencies(tree: SourceTree): readonly Violation[] {
  const workspaces = workspacesOf(tree);
  const tools = readPackage(tree.get('package.json') ?? '{}').dependencies;
  return importsOf(tree).flatMap(({ file, specifier }) => {
    const imported = packageOf(specifier);
    if (imported === undefined) return [];
    const workspace = workspaceOf(file, workspaces);
    if (declares(workspace, imported, file, tools, workspaces)) return [];
    return [
      { file, problem: `imports ${imported}, which ${workspace?.folder ?? 'the root'}/package.json doesn't declare` },
    ];
  });
}

function declares(
  workspace: Workspace | undefined,
  imported: string,
  file: string,
  tools: readonly string[],
  workspaces: readonly Workspace[],
): boolean {
  // Scripts in deploy/ belong to no package: they find the libraries where npm links every
  // workspace.
  if (workspace === undefined) return tools.includes(imported) || workspaces.some(({ name }) => name === imported);
  if (workspace.dependencies.includes(imported)) return true;
  return (isTest(file) || workspace.folder === testLibrary) && tools.includes(imported);
}

/** An unused dependency on one of our packages would hide the real dependencies. */
export function unusedDependencies(tree: SourceTree): readonly Violation[] {
  const imports = importsOf(tree);
  return workspacesOf(tree).flatMap(({ folder, dependencies }) => {
    const own = imports.filter(({ file }) => file.startsWith(`${folder}/`));
    const used = new Set(own.map(({ specifier }) => packageOf(specifier)));
    return dependencies
      .filter((name) => name.startsWith('@gateway/') && !used.has(name))
      .map((name) => ({ file: `${folder}/package.json`, problem: `declares ${name}, which nothing imports` }));
  });
}
