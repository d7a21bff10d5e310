import { readFileSync } from 'node:fs';

// Prints each script of package.json with its description. It works before `npm ci`, with any Node
// that npm runs on, so it is plain JavaScript.

/**
 * @type {{ readonly scripts: Readonly<Record<string, string>>, readonly 'scripts-info':
 * Readonly<Record<string, string>> }}
 */
const { scripts, 'scripts-info': sentences } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
);
const names = Object.keys(scripts);
const width = Math.max(...names.map((name) => name.length));
const lines = names.map((name) => `  ${name.padEnd(width)}  ${sentences[name] ?? ''}`);
process.stdout.write(`npm run <script> [-- <arguments>]\n\n${lines.join('\n')}\n`);
