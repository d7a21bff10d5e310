import { copyFile, mkdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { defineConfig } from 'vitepress';
import { anchorOf } from '../../deploy/scripts/docs/anchors.ts';
import { readSections, sidebarsOf, startsOf } from '../../deploy/scripts/docs/sections.ts';
import { scriptsIntoFiles } from './inline-scripts.ts';
import { linksOutOfPages } from './links-out-of-pages.ts';

// The docs as a site of static files. Pages ask nothing of another origin: fonts are the system's,
// the search index is one of the files. README.md describes how to build it, and its settings.

const docs = resolve(import.meta.dirname, '..');
const { DOCS_BASE: base = '/', DOCS_REPOSITORY: repository } = process.env;
const sections = await readSections(docs);
const scripts = scriptsIntoFiles(base);
/** Files beside the pages that pages link to, such as openapi.yaml. */
const attachments = new Set<string>();

export default defineConfig({
  base,
  lang: 'en-GB',
  title: 'Model gateway',
  description: 'An HTTP gateway in front of hosted language models.',
  rewrites: (page) => page.replace(/(^|\/)README\.md$/, '$1index.md'),
  metaChunk: true,
  markdown: {
    anchor: { slugify: anchorOf },
    config: (md) => {
      md.use(linksOutOfPages, {
        docs,
        repository,
        attach: (path: string) => attachments.add(path),
      });
    },
  },
  themeConfig: {
    nav: startsOf(sections),
    sidebar: sidebarsOf(sections),
    outline: [2, 3],
    search: { provider: 'local' },
  },
  transformHtml: (html) => scripts.transform(html),
  async buildEnd({ outDir }) {
    await scripts.write(outDir);
    for (const path of attachments) {
      await mkdir(dirname(join(outDir, path)), { recursive: true });
      await copyFile(join(docs, path), join(outDir, path));
    }
  },
});
