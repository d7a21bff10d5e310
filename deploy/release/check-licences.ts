import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

// Prints the licence of every package that runs in production, by licence. Exits with status 1 if
// one of them is not on the list below. Then read that licence, and add it or remove the package.
//
//   npm run check:licences

/** Licences that allow distributing the gateway with its dependencies. */
const allowed: ReadonlySet<string> = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'CC0-1.0',
  'ISC',
  'MIT',
  'Unlicense',
]);

interface Component {
  readonly name: string;
  readonly version: string;
  readonly licenses?: readonly {
    readonly license?: { readonly id?: string; readonly name?: string };
    readonly expression?: string;
  }[];
}

const components = await productionPackages();
const byLicence = Map.groupBy(components, licenceOf);
for (const [licence, packages] of [...byLicence].toSorted(([a], [b]) => a.localeCompare(b))) {
  const names = packages.map(({ name, version }) => `${name}@${version}`).toSorted();
  process.stdout.write(
    `${licence} (${names.length})${isAllowed(licence) ? '' : '  NOT ON THE LIST'}\n  ${names.join('  ')}\n`,
  );
}
const unknown = [...byLicence.keys()].filter((licence) => !isAllowed(licence));
if (components.length < 50) throw new Error('Too few packages: is node_modules complete? Run npm ci.');
if (unknown.length > 0) process.exitCode = 1;

/** The dependencies of the command line, which depends on every service, and of the console. */
async function productionPackages(): Promise<readonly Component[]> {
  const lists = await Promise.all(['@gateway/gatewayctl', '@gateway/console'].map(packagesOf));
  return [...new Map(lists.flat().map((each) => [`${each.name}@${each.version}`, each])).values()];
}

/** The packages that npm itself lists as parts. */
async function packagesOf(workspace: string): Promise<readonly Component[]> {
  const parameters = ['sbom', '--omit', 'dev', '--sbom-format', 'cyclonedx', '--workspace', workspace];
  const { stdout } = await promisify(execFile)('npm', parameters, {
    cwd: join(import.meta.dirname, '../..'),
    maxBuffer: 64 * 1024 * 1024,
  });
  return (JSON.parse(stdout) as { readonly components: readonly Component[] }).components;
}

function licenceOf({ licenses = [] }: Component): string {
  const names = licenses.map(({ license, expression }) => expression ?? license?.id ?? license?.name ?? '');
  return names.join(' AND ') || 'none';
}

/** Of alternatives (OR) one must be allowed; of combinations (AND) all. */
function isAllowed(licence: string): boolean {
  const isOne = (text: string) => allowed.has(text.replaceAll(/[()]/g, '').trim());
  return licence.split(' AND ').every((part) => part.split(' OR ').some(isOne));
}
