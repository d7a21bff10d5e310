import { execFile } from 'node:child_process';
import { glob, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

// Fails if generated files differ from the output of `npm run generate`: generates into temporary
// folders and compares.

/** Files that a program writes. */
interface Generated {
  /** The folder that has them. */
  readonly folder: string;
  /** The files of that folder that the program writes. */
  readonly files: string;
  /** Writes them; returns the folder with them. */
  readonly generateInto: (folder: string) => Promise<string>;
}

const root = join(import.meta.dirname, '../..');
const programs = join(root, 'node_modules/.bin');
const execute = promisify(execFile);

const generated: readonly Generated[] = [
  {
    folder: 'proto/gen',
    files: '**/*.*',
    async generateInto(folder) {
      await execute(join(programs, 'buf'), ['generate', '--output', folder], {
        cwd: join(root, 'proto'),
        env: { ...process.env, PATH: `${programs}${delimiter}${process.env.PATH ?? ''}` },
      });
      return join(folder, 'gen');
    },
  },
  {
    folder: 'deploy/kubernetes',
    // The templates of the chart are written by hand.
    files:
      '{*.yaml,{base,mesh,cert-manager,autoscaling,overlays,examples}/**/*.yaml,chart/*.{yaml,json},chart/{ci,files}/*.yaml}',
    generateInto: byProgram('kubernetes'),
  },
  {
    folder: 'deploy/observability',
    files: '{kustomization.yaml,{grafana,prometheus,kubernetes}/**/*.{yaml,json}}',
    generateInto: byProgram('observability'),
  },
  { folder: 'docs/reference', files: '{http,admin}-api.md', generateInto: byProgram('reference') },
];

for (const each of generated) await check(each);

async function check({ folder, files, generateInto }: Generated): Promise<void> {
  const fresh = await mkdtemp(join(tmpdir(), 'generated-'));
  try {
    const written = await generateInto(fresh);
    report(folder, differencesBetween(await filesIn(join(root, folder), files), await filesIn(written, files)));
  } catch (thrown) {
    process.stderr.write(`${folder} can't be checked: ${thrown instanceof Error ? thrown.message : String(thrown)}\n`);
    process.exitCode = 1;
  } finally {
    await rm(fresh, { recursive: true });
  }
}

function report(folder: string, differences: readonly string[]): void {
  if (differences.length === 0) {
    process.stdout.write(`${folder} is what is generated.\n`);
    return;
  }
  const lines = [`${folder} is not what is generated. Run \`npm run generate\`.`, ...differences];
  process.stderr.write(`${lines.join('\n  - ')}\n`);
  process.exitCode = 1;
}

function byProgram(name: string): Generated['generateInto'] {
  return async (folder) => {
    await execute(process.execPath, [join(import.meta.dirname, name, 'generate.ts'), '--output', folder]);
    return folder;
  };
}

function differencesBetween(kept: ReadonlyMap<string, string>, fresh: ReadonlyMap<string, string>): readonly string[] {
  const paths = [...new Set([...kept.keys(), ...fresh.keys()])].toSorted();
  return paths.flatMap((path) => {
    if (!kept.has(path)) return [`${path} is missing`];
    if (!fresh.has(path)) return [`${path} is no longer generated`];
    return kept.get(path) === fresh.get(path) ? [] : [`${path} differs`];
  });
}

async function filesIn(folder: string, files: string): Promise<ReadonlyMap<string, string>> {
  const entries = await Array.fromAsync(glob(files, { cwd: folder, withFileTypes: true }));
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const texts = await Promise.all(
    paths.map(async (path) => [path.slice(folder.length + 1), await readFile(path, 'utf8')] as const),
  );
  return new Map(texts);
}
