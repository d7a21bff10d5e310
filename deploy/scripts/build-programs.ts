import { cpSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { type Plugin, rolldown } from 'rolldown';

// Makes few files of many: dist/<service>/main.mjs for each program, and dist/shared for what they have in common. The image has
// them in place of sources and packages. A program that reads a few files starts in half the time that one of 1,500 modules
// takes, and in less memory.
//
//   npm run build:programs [-- <folder>]

const repository = join(import.meta.dirname, '../..');

/** What the threads of this package are begun with and what the gateway calls share symbols: it stays as it is. */
const wholePackage = { name: 'piscina', files: 'dist', main: 'dist/esm-wrapper.mjs' };

/** Packages that read files of their own while they run, and which. */
const filesOfPackages: Readonly<Record<string, string>> = {
  'grpc-health-check': 'proto',
  '@grpc/reflection': 'build/proto/grpc',
};

if (import.meta.main) await buildPrograms(process.argv[2] ?? join(repository, 'dist'));

/** @param folder is replaced. */
export async function buildPrograms(folder: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  const services = readdirSync(join(repository, 'services'));
  const bundle = await rolldown({
    cwd: repository,
    platform: 'node',
    input: {
      ...Object.fromEntries(services.map((name) => [`${name}/main`, `services/${name}/src/main.ts`])),
      'simulator/main': 'libs/simulator/src/main.ts',
    },
    external: [wholePackage.name],
    plugins: [filesOfSources(folder), packagesWithFiles(folder)],
    // Where packages still have it, they ask for what the gateway does not use.
    transform: { define: { __dirname: 'import.meta.dirname' } },
  });
  // Each module is in a folder of the first level: from all of them, the same relative path leads to a file.
  await bundle.write({
    dir: folder,
    entryFileNames: '[name].mjs',
    chunkFileNames: 'shared/[name].mjs',
    paths: { [wholePackage.name]: `../packages/${wholePackage.name}/${wholePackage.main}` },
  });
  await bundle.close();
  copyOfPackage(folder, wholePackage.name, join(repository, 'node_modules', wholePackage.name), wholePackage.files);
}

/** What sources name by `new URL('./file', import.meta.url)` comes along: programs of threads and processes are built, all else is copied. */
function filesOfSources(folder: string): Plugin {
  return {
    name: 'files-of-sources',
    transform: {
      filter: { id: { exclude: /\/node_modules\// }, code: 'import.meta.url' },
      handler(code, id) {
        return code.replace(/new URL\('([^']+)', import\.meta\.url\)/g, (_, path: string) => {
          const file = resolve(dirname(id), path);
          const name = relative(repository, file).replaceAll('/', '-');
          if (!file.endsWith('.ts')) {
            cpSync(file, join(folder, 'files', name), { recursive: true });
            return `new URL('../files/${name}', import.meta.url)`;
          }
          const program = `threads/${name.replace(/ts$/, 'mjs')}`;
          this.emitFile({ type: 'chunk', id: file, fileName: program });
          return `new URL('../${program}', import.meta.url)`;
        });
      },
    },
  };
}

/** `__dirname` of packages that read their own files leads to a copy of those. */
function packagesWithFiles(folder: string): Plugin {
  return {
    name: 'packages-with-files',
    transform: {
      filter: { id: /\/node_modules\//, code: '__dirname' },
      handler(code, id) {
        const [, root = '', name = ''] = /^(.*\/node_modules\/((?:@[^/]+\/)?[^/]+))/.exec(id) ?? [];
        const files = filesOfPackages[name];
        if (files === undefined) return;
        const copy = copyOfPackage(folder, name, root, files);
        return code.replaceAll(/\b__dirname\b/g, `(__dirname + '/../${copy}/${relative(root, dirname(id))}')`);
      },
    },
  };
}

/** Where in `folder` it is. */
function copyOfPackage(folder: string, name: string, root: string, files: string): string {
  const copy = join('packages', name);
  const isRead = (path: string) => !/\.(d\.ts|map)$/.test(path);
  // The manifest says which kind of modules its scripts are.
  for (const each of ['package.json', files]) {
    cpSync(join(root, each), join(folder, copy, each), { recursive: true, filter: isRead });
  }
  return copy;
}
