import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The most lines of source of each package, by its folder from the root of the repository. */
export type LineBudgets = Readonly<Record<string, number>>;

/** The lines of one package. */
export interface PackageSize {
  readonly folder: string;
  readonly files: number;
  readonly lines: number;
  /** Undefined for a package that the table lacks. */
  readonly budget: number | undefined;
}

/**
 * Counts the packages of the table and of `libs/` and `services/`. Tests, fixtures, test helpers
 * and generated code do not count.
 *
 * @throws Error if the table names a folder that has no source.
 */
export async function sizesOfPackages(root: string, budgets: LineBudgets): Promise<readonly PackageSize[]> {
  const tabled = Object.keys(budgets);
  const patterns = ['{libs,services}/*', ...tabled].map((folder) => `${folder}/**/*.{ts,tsx,js,css,lua,sql}`);
  const files = await Array.fromAsync(glob(patterns, { cwd: root, exclude: isFolderWithoutSource }));
  const sources = files.filter((file) => !/\.(test|d)\.tsx?$/.test(file));
  const filesOf = Map.groupBy(sources, (file) => packageOf(file, tabled));
  const missing = tabled.filter((folder) => !filesOf.has(folder));
  if (missing.length > 0) throw new Error(`The table of budgets names folders without source: ${missing.join(', ')}`);
  const sizes = [...filesOf].map(async ([folder, paths]) => {
    const texts = await Promise.all(paths.map((path) => readFile(join(root, path), 'utf8')));
    const lines = texts.reduce((sum, text) => sum + text.split('\n').length - 1, 0);
    return { folder, files: paths.length, lines, budget: budgets[folder] };
  });
  return (await Promise.all(sizes)).toSorted((one, other) => one.folder.localeCompare(other.folder));
}

export function isOverBudget({ lines, budget }: PackageSize): boolean {
  return budget === undefined || lines > budget;
}

/** The budget of a package with this many lines: 3 % more, in tens. */
export function budgetFor(lines: number): number {
  return Math.ceil((lines * 1.03) / 10) * 10;
}

/** The innermost folder of the table, since the console is inside the service that serves it. */
function packageOf(file: string, tabled: readonly string[]): string {
  const around = tabled.filter((folder) => file.startsWith(`${folder}/`));
  return around.toSorted((one, other) => other.length - one.length)[0] ?? file.split('/', 2).join('/');
}

function isFolderWithoutSource(path: string): boolean {
  return /(^|\/)(node_modules|__fixtures__|test|testing|gen|dist|dev)$/.test(path);
}
