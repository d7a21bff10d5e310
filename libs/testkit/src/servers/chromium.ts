import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findPrograms, type WantedPrograms } from './find-programs.ts';

/** Debian's headless Chromium, with the font of the console. */
const chromiumPrograms: WantedPrograms = {
  name: 'chromium',
  programs: ['chromium-headless-shell'],
  packages: ['chromium-headless-shell', 'chromium-common', 'fonts-inter', 'fonts-dejavu-core'],
};

/** A browser that is installed or comes from Debian's packages. */
export interface Chromium {
  readonly executablePath: string;
  /** Variables for its environment. */
  readonly env: Readonly<Record<string, string>>;
}

/** The browser for tests of pages; see `findPrograms`. */
export async function chromium(): Promise<Chromium> {
  const { folder, libraryFolders } = await findPrograms(chromiumPrograms);
  if (libraryFolders.length === 0) return { executablePath: join(folder, 'chromium-headless-shell'), env: {} };
  const usr = join(folder, '..');
  const fontsFile = join(usr, 'fonts.conf');
  await writeFile(fontsFile, fontsOf(join(usr, 'share/fonts'), join(usr, 'fonts-cache')));
  // The program that Debian's package puts on PATH is a script that works only in the installed
  // location.
  return {
    executablePath: join(usr, 'lib/chromium/chromium-headless-shell'),
    env: { LD_LIBRARY_PATH: libraryFolders.join(':'), FONTCONFIG_FILE: fontsFile },
  };
}

/** Only these fonts are used, so that pages look the same on every machine. */
function fontsOf(folder: string, cache: string): string {
  return `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>${folder}</dir><cachedir>${cache}</cachedir></fontconfig>
`;
}
