import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The text of every file that a rule looks at, by its path from the root of the repository. */
export type SourceTree = ReadonlyMap<string, string>;

/** A violation of a rule. */
export interface Violation {
  readonly file: string;
  readonly problem: string;
}

export function violationText({ file, problem }: Violation): string {
  return `${file}: ${problem}`;
}

/**
 * Reads sources, contracts and package files. Generated code and installed packages are left out.
 */
export async function readSourceTree(root: string): Promise<SourceTree> {
  const paths = await Array.fromAsync(glob([...readPatterns], { cwd: root, exclude: isLeftOut }));
  const entries = await Promise.all(
    paths.map(async (path) => [path, await readFile(join(root, path), 'utf8')] as const),
  );
  return new Map(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

const readPatterns = [
  'package.json',
  '*.ts',
  'proto/**/*.proto',
  'proto/package.json',
  '{libs,services,test-e2e,deploy}/**/*.{ts,tsx,css,js,mjs,lua,sql}',
  '{libs,services}/*/{package.json,README.md}',
  'services/admin/console/package.json',
  'test-e2e/{,conformance/}package.json',
];

function isLeftOut(path: string): boolean {
  return path.split('/').some((part) => ['node_modules', 'gen', 'data', 'dist'].includes(part));
}

/** Whether a file only runs in tests. */
export function isTest(path: string): boolean {
  return (
    /\.test\.tsx?$/.test(path) ||
    /\/(__fixtures__|src\/testing)\//.test(path) ||
    /^(libs|services)\/[^/]+\/test\//.test(path) ||
    // The console on made-up data.
    path.startsWith('services/admin/console/dev/') ||
    (path.startsWith('test-e2e/') && !path.startsWith('test-e2e/conformance/'))
  );
}
