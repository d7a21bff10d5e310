import { execFile } from 'node:child_process';
import { glob, mkdir, stat, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { unpackPackages } from '@gateway/testkit';
import { overOldGrpc } from './go-with-old-grpc.ts';

export const repositoryRoot = fileURLToPath(new URL('../..', import.meta.url));

/** The tools that generate, compile and run a client of the limiter. */
export type Language = 'TypeScript' | 'Python' | 'Go';

/**
 * The variables with which the commands of a page find the tools of a language.
 *
 * @param folder a writable folder.
 * @throws Error with the attempts and the remedy.
 */
export async function toolchain(language: Language, folder: string): Promise<Readonly<Record<string, string>>> {
  switch (language) {
    case 'TypeScript':
      return { PATH: pathBehind(join(repositoryRoot, 'node_modules/.bin')) };
    case 'Python':
      return (await hasGrpc('python3')) ? { PATH: pathBehind() } : pythonFromDebian(folder);
    case 'Go':
      return goFromDebian(folder);
  }
}

function hasGrpc(python: string): Promise<boolean> {
  return promisify(execFile)(python, ['-c', 'import grpc, grpc_tools.protoc']).then(
    () => true,
    () => false,
  );
}

async function pythonFromDebian(folder: string) {
  const root = await unpack('Python with gRPC', 'python-grpc', [
    'python3-grpcio',
    'protobuf-compiler',
    'protobuf-compiler-grpc',
    'libprotobuf-dev',
  ]);
  const grpcTools = join(folder, 'grpc_tools');
  await mkdir(grpcTools);
  await writeFile(join(grpcTools, 'protoc.py'), protocAsModule);
  // C extensions are compiled for Debian's own Python: that of this machine, or the one that came
  // with them.
  const own = await stat(join(root, 'usr/bin/python3')).catch(() => undefined);
  return {
    PATH: pathBehind(join(root, 'usr/bin'), ...(own === undefined ? ['/usr/bin'] : [])),
    PYTHONPATH: [folder, join(root, 'usr/lib/python3/dist-packages')].join(delimiter),
    LD_LIBRARY_PATH: await libraryPath(root),
  };
}

/**
 * Debian's grpc_tools is from 2018 and does not support optional fields. Its protoc and its plugin
 * do.
 */
const protocAsModule = `
import os, shutil, sys
plugin = "--plugin=protoc-gen-grpc_python=" + shutil.which("grpc_python_plugin")
os.execvp("protoc", ["protoc", plugin, *sys.argv[1:]])
`;

async function goFromDebian(folder: string) {
  const root = await unpack('Go with gRPC', 'go-grpc', [
    'golang-go',
    'golang-google-grpc-dev',
    'golang-google-protobuf-dev',
    'golang-github-golang-protobuf-1-5-dev',
    'protobuf-compiler',
    'protoc-gen-go',
    'protoc-gen-go-grpc',
  ]);
  const gocode = join(root, 'usr/share/gocode');
  return {
    PATH: pathBehind(join(root, 'usr/bin')),
    LD_LIBRARY_PATH: await libraryPath(root),
    GOROOT: join(root, 'usr/lib/go'),
    GOPATH: [folder, gocode].join(delimiter),
    // Debian's packages are no modules, and there is no C compiler.
    GO111MODULE: 'off',
    CGO_ENABLED: '0',
    GOCACHE: join(repositoryRoot, 'node_modules/.cache/go'),
    ...(await overOldGrpc(gocode, join(folder, 'newer-grpc'))),
  };
}

function unpack(what: string, name: string, packages: readonly string[]): Promise<string> {
  return unpackPackages(name, packages).catch((thrown) => {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new Error(
      `${what} can't be had: Debian's packages ${packages.join(', ')} can't be downloaded (${reason}). Run this on Debian or a descendant that reaches its archive.`,
      { cause: thrown },
    );
  });
}

async function libraryPath(root: string): Promise<string> {
  const libraries = await Array.fromAsync(glob(join(root, 'usr/lib/*/*.so{,.*}')));
  return [...new Set(libraries.map(dirname))].join(delimiter);
}

function pathBehind(...folders: readonly string[]): string {
  return [...folders, process.env.PATH ?? ''].join(delimiter);
}
