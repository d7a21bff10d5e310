import type { SourceTree, Violation } from './source-tree.ts';
import { workspaceOf, workspacesOf } from './workspaces.ts';

/** `turbo run test` runs the script `test` of each package, and says nothing of packages that have none. */
export function testScriptsOtherThanTests(tree: SourceTree): readonly Violation[] {
  const workspaces = workspacesOf(tree);
  const unitTests = [...tree.keys()].filter((path) => /\/src\/.*\.test\.tsx?$/.test(path));
  const tested = new Set(unitTests.map((path) => workspaceOf(path, workspaces)?.folder));
  return workspaces.flatMap(({ folder }) => {
    const file = `${folder}/package.json`;
    const script = testScriptIn(tree.get(file) ?? '{}');
    if (!tested.has(folder)) {
      return script === undefined ? [] : [{ file, problem: 'has the script test, and no unit tests' }];
    }
    const expected = `vitest run --root ${folder.replaceAll(/[^/]+/g, '..')} --project unit ${folder}/`;
    // Of a package that another one is in, the sources alone.
    if (script === expected || script === `${expected}src/`) return [];
    return [{ file, problem: `has unit tests, so its script test is "${expected}"` }];
  });
}

function testScriptIn(text: string): unknown {
  const { scripts }: { readonly scripts?: Readonly<Record<string, unknown>> } = JSON.parse(text);
  return scripts?.test;
}
