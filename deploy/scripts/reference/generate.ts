import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { adminApiPage } from './admin-api-page.ts';
import { readAdminContracts } from './admin-contracts.ts';
import { httpApiPage } from './http-api-page.ts';
import { readOpenApi } from './openapi.ts';

// Writes the pages of docs/reference that repeat the content of other files in the readers' words:
// the HTTP API from docs/openapi.yaml, the admin API from the comments in proto/gateway/admin/v1.
// `--output <folder>` writes to another folder.

const root = join(import.meta.dirname, '../../..');
const { values } = parseArgs({ options: { output: { type: 'string' } } });
const folder = resolve(values.output ?? join(root, 'docs/reference'));
const pages = {
  'http-api.md': httpApiPage(readOpenApi(join(root, 'docs/openapi.yaml'))),
  'admin-api.md': adminApiPage(await readAdminContracts(join(root, 'proto'))),
};
for (const [name, text] of Object.entries(pages)) await writeFile(join(folder, name), text);
process.stdout.write(`${Object.keys(pages).join(', ')} in ${folder}\n`);
