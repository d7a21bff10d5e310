import { globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

// Prints the licence of every package that is installed under a folder, then the licence texts.
// Exits with an error if a package names no licence, or is not in the list of parts (SBOM) in
// CycloneDX.
//
//   node deploy/docker/licence-list.ts <sbom.cdx.json> <folder>

interface Package {
  readonly id: string;
  readonly licence: string;
  readonly text: string;
}

const [sbomFile = '', folder = ''] = process.argv.slice(2);
const packages = installedPackages(folder);
const listed = idsOf(readFileSync(sbomFile, 'utf8'));
const problems = packages.flatMap(({ id, licence }) => [
  ...(licence === '' ? [`${id} names no licence`] : []),
  ...(listed.has(id) ? [] : [`${id} is installed and not in ${sbomFile}`]),
]);
if (packages.length === 0) problems.push(`no package is installed under ${folder}`);
if (problems.length > 0) throw new Error(problems.join('\n'));
process.stdout.write(document(packages));

/** Each package once, by name. Our own workspaces are links, and have the licence of the whole. */
function installedPackages(root: string): readonly Package[] {
  const files = ['.', 'proto', 'libs/*', 'services/*'].flatMap((place) =>
    globSync(`${place}/node_modules/**/package.json`, { cwd: root }),
  );
  const found = files
    .filter((file) => /node_modules\/(@[^/]+\/)?[^/]+\/package\.json$/.test(file))
    .map((file) => packageIn(join(root, dirname(file))));
  return [...new Map(found.map((one) => [one.id, one])).values()].toSorted((a, b) => a.id.localeCompare(b.id));
}

function packageIn(folder: string): Package {
  const manifest: { name: string; version: string; license?: unknown } = JSON.parse(
    readFileSync(join(folder, 'package.json'), 'utf8'),
  );
  const texts = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && /^(licen[cs]e|copying|notice)/i.test(entry.name))
    .map(({ name }) => readFileSync(join(folder, name), 'utf8').trim());
  return {
    id: `${manifest.name}@${manifest.version}`,
    licence: typeof manifest.license === 'string' ? manifest.license : '',
    text: texts.join('\n\n'),
  };
}

function idsOf(sbom: string): ReadonlySet<string> {
  const { components }: { components: readonly { 'bom-ref': string }[] } = JSON.parse(sbom);
  return new Set(components.map((component) => component['bom-ref']));
}

function document(all: readonly Package[]): string {
  const width = Math.max(...all.map(({ id }) => id.length));
  const table = all.map(({ id, licence }) => `${id.padEnd(width)}  ${licence}`);
  const byText = [...Map.groupBy(all, ({ text }) => text)].filter(([text]) => text !== '');
  const texts = byText.map(([text, users]) => `${users.map(({ id }) => id).join(', ')}\n\n${text}`);
  return `${[table.join('\n'), ...texts].join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}
