import { readPages } from '@gateway/testkit/pages';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { type DocumentedGateway, startDocumentedGateway } from '../docs/documented-gateway.ts';
import { repositoryRoot } from '../docs/page-folder.ts';
import { runPage } from '../docs/run-page.ts';

const pages = await readPages(repositoryRoot);

describe('a reader who follows a page sees what it says', () => {
  let gateway: DocumentedGateway;
  beforeAll(async () => {
    gateway = await startDocumentedGateway();
  });
  afterAll(() => gateway[Symbol.asyncDispose]());

  it.for(pages.map((page) => [page.path, page] as const))('%s', async ([, page], { annotate }) => {
    await runPage(page, gateway, { withClients: false });
    for (const { line, attributes } of page.blocks) {
      const reason = attributes.noRun ?? (attributes.clients === true ? 'npm run docs:clients runs it' : undefined);
      if (reason !== undefined) await annotate(`line ${line} is not run: ${reason}`);
    }
  });
});
