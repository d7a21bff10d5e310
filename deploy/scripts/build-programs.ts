import { cpSync, readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { type Plugin, rolldown } from 'rolldown';

// Bundles many files into few: dist/<service>/main.mjs for each program, and dist/shared for their
// shared code. The image has them instead of sources and packages. A program of a few files starts
// in half the time of one of 1,500 modules, and in less memory.
//
//   npm run build:programs [-- <folder>]

const repository = join(import.meta.dirname, '../..');

/**
 * The threads of this package and the code that the gateway calls share symbols: the package stays
 * whole.
 */
const wholePackage = { name: 'piscina', files: 'dist', main: 'dist/esm-wrapper.mjs' };

/** Packages that read files of their own at run time, with these files. */
const filesOfPackages: Readonly<Record<string, string>> = {
  'grpc-health-check': 'proto',
  '@grpc/reflection': 'build/proto/grpc',
};

if (import.meta.main) await buildPrograms(process.argv[2] ?? join(repository, 'dist'));

/**
 * @param folder is replaced.
 * @returns the packages that the programs contain code of, as paths in package-lock.json:
 * `node_modules/pino`.
 */
export async function buildPrograms(folder: string): Promise<ReadonlySet<string>> {
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
    // Packages that still have it use it only for features that the gateway does not use.
    transform: { define: { __dirname: 'import.meta.dirname' } },
  });
  // Each module is in a folder of the first level: from all of them, the same relative path leads
  // to a file.
  const { output } = await bundle.write({
    dir: folder,
    entryFileNames: '[name].mjs',
    chunkFileNames: 'shared/[name].mjs',
    paths: { [wholePackage.name]: `../packages/${wholePackage.name}/${wholePackage.main}` },
  });
  await bundle.close();
  const whole = join(repository, 'node_modules', wholePackage.name);
  copyOfPackage(folder, wholePackage.name, whole, wholePackage.files);
  const modules = output.flatMap((each) => (each.type === 'chunk' ? each.moduleIds : []));
  return new Set([`${whole}/package.json`, ...modules].flatMap((id) => packageOf(id) ?? []));
}

/** The path in package-lock.json of the package that has this module; undefined for our own. */
function packageOf(id: string): string | undefined {
  const path = relative(repository, id);
  return /^((?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1];
}

/**
 * Includes the files that sources name by `new URL('./file', import.meta.url)`: programs of threads
 * and processes are built, all others are copied.
 */
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
            // Hidden files of a folder are notes of the tool that built it.
            const filter = (each: string) => !basename(each).startsWith('.');
            cpSync(file, join(folder, 'files', name), { recursive: true, filter });
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

/** `__dirname` of packages that read their own files leads to a copy of these files. */
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

/** Its path relative to `folder`. */
function copyOfPackage(folder: string, name: string, root: string, files: string): string {
  const copy = join('packages', name);
  const isRead = (path: string) => !/\.(d\.ts|map)$/.test(path);
  // The manifest says whether its scripts are ES modules or CommonJS.
  for (const each of ['package.json', files]) {
    cpSync(join(root, each), join(folder, copy, each), { recursive: true, filter: isRead });
  }
  return copy;
}
