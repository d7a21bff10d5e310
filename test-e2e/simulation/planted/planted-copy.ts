import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { PlantedFault } from './planted-faults.ts';

export const repository = join(import.meta.dirname, '../../..');

/** The code with a mistake in it. @throws when the text that it replaces is not there once. */
export function planted({ name, before, after }: PlantedFault, code: string): string {
  const [start, end, ...more] = code.split(before);
  if (end === undefined || more.length > 0) throw new Error(`${name}: the text to replace is not there once`);
  return `${start}${after}${end}`;
}

/** A copy of the code, with the installed packages of the original, which disposal removes. */
export class PlantedCopy implements Disposable {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), 'planted-')));

  constructor(fault: PlantedFault) {
    for (const part of copied) {
      const filter = (path: string) => !left.has(basename(path));
      cpSync(join(repository, part), join(this.folder, part), { recursive: true, filter });
    }
    this.#linkPackages();
    for (const parent of ['services', 'libs']) {
      for (const name of readdirSync(join(repository, parent))) this.#linkPackagesOf(join(parent, name));
    }
    const path = join(this.folder, fault.file);
    writeFileSync(path, planted(fault, readFileSync(path, 'utf8')));
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** The gateway's own packages are links into the copy. */
  #linkPackages(): void {
    const packages = join(repository, 'node_modules');
    const links = join(this.folder, 'node_modules');
    mkdirSync(links);
    for (const name of readdirSync(packages)) {
      if (name === '@gateway')
        cpSync(join(packages, name), join(links, name), { recursive: true, verbatimSymlinks: true });
      else symlinkSync(join(packages, name), join(links, name));
    }
  }

  #linkPackagesOf(part: string): void {
    const packages = join(repository, part, 'node_modules');
    if (readdirSync(join(repository, part)).includes('node_modules'))
      symlinkSync(packages, join(this.folder, part, 'node_modules'));
  }
}

const copied = ['services', 'libs', 'proto', 'test-e2e', 'package.json'];
const left = new Set(['node_modules', 'console', 'screenshots', 'dist']);
