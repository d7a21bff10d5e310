import { builtinModules } from 'node:module';
import type { SourceTree } from './source-tree.ts';

export interface Import {
  /** The file that imports. */
  readonly file: string;
  /** The text between the quotes. */
  readonly specifier: string;
  /** It imports only types, which do not exist at run time. */
  readonly isOfTypes: boolean;
}

/**
 * Every import of the tree's sources: static, dynamic, of types, for side effects, and re-exports.
 */
export function importsOf(tree: SourceTree): readonly Import[] {
  return [...tree]
    .filter(([file]) => /\.(tsx?|js|mjs)$/.test(file))
    .flatMap(([file, text]) => importsIn(text).map((each) => ({ file, ...each })));
}

/**
 * The package of a specifier: "@gateway/rpc" of "@gateway/rpc/grpc"; undefined for paths and Node's
 * own modules.
 */
export function packageOf(specifier: string): string | undefined {
  if (specifier.startsWith('.') || specifier.startsWith('node:') || builtinModules.includes(specifier))
    return undefined;
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

function importsIn(text: string): readonly Omit<Import, 'file'>[] {
  const code = text
    .replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
    // Texts of several lines may be code for another program.
    .replaceAll(/`[^`]*`/g, (quoted) => (quoted.includes('\n') ? '``' : quoted));
  const found = patterns.flatMap((pattern) =>
    [...code.matchAll(pattern)].map(([statement, specifier = '']) => ({
      specifier,
      isOfTypes: /^\s*(?:import|export)\s+type\b/.test(statement),
    })),
  );
  return found.filter(({ specifier }) => specifier !== '' && !specifier.includes('${'));
}

const patterns = [
  /^\s*(?:import|export)\b[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]/gm,
  /^\s*import\s*['"]([^'"]+)['"]/gm,
  /\bimport\(\s*['"`]([^'"`]+)['"`]\s*\)/g,
];
