import { posix } from 'node:path';
import { z } from 'zod';
import { importsOf, packageOf } from './imports-of.ts';
import type { SourceTree, Violation } from './source-tree.ts';

/*
 * `npm ci` runs scripts with the Node that npm itself runs on, which may be the oldest supported
 * one: it can't run TypeScript, and the installed Node may not start before these scripts have run.
 */

/** Sources that run while npm installs, and are not plain JavaScript. */
export function typescriptDuringInstall(tree: SourceTree): readonly Violation[] {
  return filesDuringInstall(tree)
    .filter(({ file }) => !/\.m?js$/.test(file))
    .map(({ file, by }) => ({ file: by, problem: `runs ${file} during npm ci, which old versions of Node can't` }));
}

/**
 * External packages that run while npm installs, and need a newer Node. @param enginesOf the range
 * of versions that a package supports.
 */
export function packagesForNewerNode(
  tree: SourceTree,
  enginesOf: (name: string) => string | undefined,
): readonly Violation[] {
  const { engines } = manifestOf(tree, '');
  const oldest = /\d.*/.exec(engines.node)?.[0] ?? '';
  const files = new Set(filesDuringInstall(tree).map(({ file }) => file));
  return importsOf(tree).flatMap(({ file, specifier }) => {
    const name = packageOf(specifier);
    if (!files.has(file) || name === undefined || ownFileOf(specifier, file, tree) !== undefined) return [];
    const wanted = enginesOf(name);
    if (wanted === undefined || admits(wanted, oldest)) return [];
    return [{ file, problem: `imports ${name} during npm ci, which wants Node ${wanted}` }];
  });
}

interface RunningFile {
  readonly file: string;
  /** The package.json, or the file, that runs it. */
  readonly by: string;
}

/** The scripts that npm runs automatically, with all of their imports. */
export function filesDuringInstall(tree: SourceTree): readonly RunningFile[] {
  const found = new Map<string, RunningFile>();
  const pending = [...tree.keys()].filter((path) => /(^|\/)package\.json$/.test(path)).flatMap(scriptsIn);
  for (const running of pending) {
    if (found.has(running.file)) continue;
    found.set(running.file, running);
    pending.push(...importsOfFile(running.file));
  }
  return [...found.values()];

  function scriptsIn(by: string): readonly RunningFile[] {
    const { scripts } = manifestOf(tree, posix.dirname(by));
    const commands = ranByInstall.map((name) => scripts[name] ?? '').join(' ');
    const files = commands.match(/[\w./-]+\.[cm]?[jt]s\b/g) ?? [];
    return files.map((file) => ({ file: posix.join(posix.dirname(by), file), by }));
  }

  function importsOfFile(by: string): readonly RunningFile[] {
    const imported = importsOf(new Map([[by, tree.get(by) ?? '']])).map(({ specifier }) => specifier);
    const files = imported.map((specifier) => ownFileOf(specifier, by, tree)).filter((file) => file !== undefined);
    return files.map((file) => ({ file, by }));
  }
}

const ranByInstall = ['preinstall', 'install', 'postinstall', 'prepublish', 'preprepare', 'prepare', 'postprepare'];

/** Our own file that an import leads to. */
function ownFileOf(specifier: string, file: string, tree: SourceTree): string | undefined {
  if (specifier.startsWith('.')) return posix.join(posix.dirname(file), specifier);
  for (const path of tree.keys()) {
    if (!path.endsWith('/package.json')) continue;
    const { name, exports } = manifestOf(tree, posix.dirname(path));
    if (name === '' || packageOf(specifier) !== name) continue;
    return posix.join(posix.dirname(path), exports[`.${specifier.slice(name.length)}`] ?? 'src/index.ts');
  }
  return undefined;
}

const manifest = z.object({
  name: z.string().default(''),
  scripts: z.record(z.string(), z.string()).default({}),
  exports: z.record(z.string(), z.string()).default({}),
  engines: z.object({ node: z.string() }).default({ node: '' }),
});

function manifestOf(tree: SourceTree, folder: string) {
  return manifest.parse(JSON.parse(tree.get(posix.join(folder, 'package.json')) ?? '{}'));
}

/** Whether a range such as "^20.19.0 || >=22.12.0" contains a version. */
function admits(range: string, version: string): boolean {
  const given = orderOf(version);
  return range.split('||').some((all) => {
    const comparators = [...all.matchAll(/([<>]=?|[~^=]?)\s*v?(\d[\d.]*)/g)];
    return comparators.every(([, operator = '', text = '']) => {
      const bound = orderOf(text);
      if (operator === '>=') return given >= bound;
      if (operator === '>') return given > bound;
      if (operator === '<=') return given <= bound;
      if (operator === '<') return given < bound;
      return given >= bound && Number.parseInt(version, 10) === Number.parseInt(text, 10);
    });
  });
}

/** Larger for a later version. */
function orderOf(version: string): number {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
  return (major * 1_000 + minor) * 1_000 + patch;
}
