import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';

// Prints the lines of source of each package beside its budget. Tests, fixtures, test helpers and generated code do not count.

const root = join(import.meta.dirname, '../..');

const consoleFolder = 'services/admin/console';

/** How much a part may weigh in a reader's head. */
const budgets: Readonly<Record<string, number>> = {
  'libs/adapter-kit': 2_400,
  'libs/chat': 700,
  'libs/config': 1_100,
  'libs/database': 1_150,
  'libs/encrypted-reasoning': 80,
  'libs/errors': 120,
  'libs/json': 800,
  'libs/lifecycle': 500,
  'libs/limits': 850,
  'libs/presentation': 350,
  'libs/redis': 420,
  'libs/rpc': 1_400,
  'libs/simulator': 4_800,
  'libs/sse': 270,
  'libs/telemetry': 500,
  'libs/testkit': 1_200,
  'libs/time': 150,
  'libs/tokens': 60,
  'libs/usage-stream': 340,
  'services/admin': 2_000,
  [consoleFolder]: 6_000,
  'services/all-in-one': 450,
  'services/edge-router': 3_100,
  'services/gatewayctl': 1_500,
  'services/identity': 600,
  'services/limiter': 1_500,
  'services/messages-adapter': 2_200,
  'services/pool-broker': 4_500,
  'services/responses-adapter': 2_200,
  'services/usage-ingest': 1_150,
  'services/usage-query': 550,
};
const budgetOfAll = 40_500;

interface Source {
  readonly package: string;
  readonly lines: number;
}

const sources = await readSources();
const packages = [...Map.groupBy(sources, (source) => source.package)].toSorted(([a], [b]) => a.localeCompare(b));
const rows = [
  row('', 'files', 'lines', 'budget'),
  ...packages.map(([name, files]) => rowOf(name, files, budgets[name])),
  rowOf('libs and services', sources, budgetOfAll),
];
process.stdout.write(`${rows.join('\n')}\n`);

async function readSources(): Promise<readonly Source[]> {
  const files = await Array.fromAsync(
    glob('{libs,services}/*/**/*.{ts,tsx,css,lua}', { cwd: root, exclude: isNoFolderOfSource }),
  );
  return Promise.all(
    files
      .filter((file) => !/\.(test|d)\.tsx?$/.test(file))
      .map(async (file) => ({
        package: file.startsWith(`${consoleFolder}/`) ? consoleFolder : file.split('/', 2).join('/'),
        lines: (await readFile(join(root, file), 'utf8')).split('\n').length - 1,
      })),
  );
}

function isNoFolderOfSource(path: string): boolean {
  return /(^|\/)(node_modules|__fixtures__|test|testing|gen|dist|dev)$/.test(path);
}

function rowOf(name: string, files: readonly Source[], budget = 0): string {
  const lines = files.reduce((sum, source) => sum + source.lines, 0);
  return row(name, files.length, lines, budget) + (lines > budget ? '  over' : '');
}

function row(name: string, ...columns: readonly (number | string)[]): string {
  return name.padEnd(28) + columns.map((column) => String(column).padStart(8)).join('');
}
