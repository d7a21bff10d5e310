import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Part } from './parts.ts';

/**
 * The licence of every part, then the texts of the licences. @param root the folder that packages
 * are installed in.
 */
export function licenceList(parts: readonly Part[], root: string): string {
  const width = Math.max(...parts.map(({ id }) => id.length));
  const table = parts.map(({ id, licence }) => `${id.padEnd(width)}  ${licence}`);
  const byText = [...Map.groupBy(parts, ({ paths: [path = ''] }) => textIn(join(root, path)))];
  const texts = byText
    .filter(([text]) => text !== '')
    .map(([text, users]) => `${users.map(({ id }) => id).join(', ')}\n\n${text}`);
  return `${[table.join('\n'), ...texts].join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}

/** Its licences and notices. */
function textIn(folder: string): string {
  const names = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && /^(licen[cs]e|copying|notice)/i.test(entry.name))
    .map(({ name }) => name)
    .toSorted();
  return names.map((name) => readFileSync(join(folder, name), 'utf8').trim()).join('\n\n');
}
