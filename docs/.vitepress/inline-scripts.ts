import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Moves scripts of pages into files, so that pages run under a policy without inline scripts. */
export function scriptsIntoFiles(base: string) {
  const files = new Map<string, string>();
  return {
    transform: (html: string): string =>
      html.replace(/<script(?![^>]*\bsrc=)([^>]*)>(.+?)<\/script>/gs, (_, attributes: string, code: string) => {
        const name = `assets/inline.${createHash('sha256').update(code).digest('base64url').slice(0, 8)}.js`;
        files.set(name, code);
        return `<script${attributes} src="${base}${name}"></script>`;
      }),
    async write(folder: string): Promise<void> {
      await mkdir(join(folder, 'assets'), { recursive: true });
      for (const [name, code] of files) await writeFile(join(folder, name), code);
    },
  };
}
