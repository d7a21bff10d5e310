import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findPrograms, type WantedPrograms } from './find-programs.ts';

/** Debian's Chromium without a window, with the font of the console. */
const chromiumPrograms: WantedPrograms = {
  name: 'chromium',
  programs: ['chromium-headless-shell'],
  packages: ['chromium-headless-shell', 'chromium-common', 'fonts-inter', 'fonts-dejavu-core'],
};

/** A browser of this machine or of Debian's packages. */
export interface Chromium {
  readonly executablePath: string;
  /** What it needs in its environment. */
  readonly env: Readonly<Record<string, string>>;
}

/** The browser for tests of pages; see `findPrograms`. */
export async function chromium(): Promise<Chromium> {
  const { folder, libraryFolders } = await findPrograms(chromiumPrograms);
  if (libraryFolders.length === 0) return { executablePath: join(folder, 'chromium-headless-shell'), env: {} };
  const usr = join(folder, '..');
  const fontsFile = join(usr, 'fonts.conf');
  await writeFile(fontsFile, fontsOf(join(usr, 'share/fonts'), join(usr, 'fonts-cache')));
  // What Debian's package puts on PATH is a script that knows only where the package is installed.
  return {
    executablePath: join(usr, 'lib/chromium/chromium-headless-shell'),
    env: { LD_LIBRARY_PATH: libraryFolders.join(':'), FONTCONFIG_FILE: fontsFile },
  };
}

/** Pages look alike on every machine: with these fonts alone. */
function fontsOf(folder: string, cache: string): string {
  return `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>${folder}</dir><cachedir>${cache}</cachedir></fontconfig>
`;
}
