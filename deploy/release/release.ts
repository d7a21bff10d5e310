import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { makeReleaseFiles } from './files/release-files.ts';
import { readSource, refusalOf } from './source.ts';
import { summary } from './summary.ts';

// Makes all files of a release, and prints what would be published where:
//
//   npm run release -- --dry-run [--output <folder>] [--registry <host/path>] [--tag v<version>]
//
// It publishes nothing. The workflow of releases runs this command with --tag, which refuses
// sources that are not those of the tag, and publishes the files.

const repository = join(import.meta.dirname, '../..');
const { values } = parseArgs({
  options: {
    'dry-run': { type: 'boolean', default: false },
    output: { type: 'string', default: join(repository, 'dist-release') },
    registry: { type: 'string', default: '<registry>' },
    tag: { type: 'string' },
  },
});
const source = readSource(repository, process.env.SOURCE_DATE_EPOCH);
const refusal = values['dry-run'] ? refusalOf(source, values.tag) : onlyTheWorkflow();
if (refusal === undefined) {
  const folder = resolve(values.output);
  process.stdout.write(summary(source, values.registry, folder, await makeReleaseFiles(folder, source)));
} else {
  process.stderr.write(`${refusal}\n`);
  process.exitCode = 1;
}

function onlyTheWorkflow(): string {
  return `Only the workflow .github/workflows/release.yml publishes, with its own identity: push the tag v${source.version}. To see what it would publish: npm run release -- --dry-run`;
}
