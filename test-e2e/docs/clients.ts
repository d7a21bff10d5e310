/**
 * Follows, word by word, the pages of docs/quickstart that download a client, each with an empty
 * folder as its home. Arguments select pages:
 *
 *   npm run docs:clients
 *   npm run docs:clients codex opencode
 */
import { basename } from 'node:path';
import { placeOf, readPages } from '@gateway/testkit/pages';
import { startDocumentedGateway } from './documented-gateway.ts';
import { repositoryRoot } from './page-folder.ts';
import { runPage } from './run-page.ts';

const wanted = process.argv.slice(2);
const pages = (await readPages(repositoryRoot)).filter(
  ({ path, blocks }) => path.startsWith('docs/quickstart/') && blocks.some(({ attributes }) => attributes.clients),
);
const nameOf = (path: string) => basename(path, '.md');
const unknown = wanted.filter((name) => !pages.some(({ path }) => nameOf(path) === name));
if (unknown.length > 0)
  throw new Error(
    `There is no page ${unknown.join(', ')}. There are ${pages.map(({ path }) => nameOf(path)).join(', ')}.`,
  );

await using gateway = await startDocumentedGateway();
for (const page of pages) {
  if (wanted.length > 0 && !wanted.includes(nameOf(page.path))) continue;
  process.stdout.write(`\n# ${page.path}\n`);
  const outcome = await runPage(page, gateway, {
    withClients: true,
    onBlock: (block) => process.stdout.write(`\n## ${placeOf(block)}\n${block.text}\n--\n`),
    onPrinted: (text) => process.stdout.write(text),
  }).then(
    () => 'does what it says',
    (thrown: unknown) => {
      process.exitCode = 1;
      return thrown instanceof Error ? thrown.message : String(thrown);
    },
  );
  process.stdout.write(`\n${page.path}: ${outcome}\n`);
}
