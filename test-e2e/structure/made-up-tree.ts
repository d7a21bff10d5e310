import type { SourceTree } from './source-tree.ts';

/**
 * A small repository for testing the rules: one package.json per folder in `packages`, with its
 * dependencies.
 */
export function madeUpTree(
  packages: Readonly<Record<string, readonly string[]>>,
  files: Readonly<Record<string, string>> = {},
): SourceTree {
  const packageFiles = Object.entries(packages).map(([folder, dependencies]) => {
    const name = `@gateway/${folder.split('/').at(-1)}`;
    const versions = Object.fromEntries(dependencies.map((dependency) => [dependency, '1.0.0']));
    return [`${folder}/package.json`, JSON.stringify({ name, dependencies: versions })] as const;
  });
  return new Map([...packageFiles, ...Object.entries(files)]);
}

/**
 * The text of a source that imports. Built from parts, so that the rules don't find an import in
 * this file.
 */
export function importing(specifier: string): string {
  return `import { something } from '${specifier}';\n`;
}
