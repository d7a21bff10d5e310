import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gatewayJsonSchema } from '@gateway/config';
import { beforeAll, describe, expect, it } from 'vitest';
import { isTest, readSourceTree, type SourceTree } from './source-tree.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const docs = readFileSync(join(root, 'docs/reference/configuration.md'), 'utf8');

describe('docs/reference/configuration.md', () => {
  let tree: SourceTree;
  beforeAll(async () => {
    tree = await readSourceTree(root);
  });

  it('names every environment variable that a configuration reads', () => {
    const names = [...tree]
      .filter(([path]) => path.endsWith('.ts') && !isTest(path))
      .flatMap(([, text]) =>
        [...text.matchAll(/\b(?:reader\.\w+|seconds|service)\(\s*'([A-Z][A-Z_]+)'/g)].map(([, name = '']) => name),
      );
    expect(names.length).toBeGreaterThan(30);
    expect([...new Set(names)].filter((name) => !docs.includes(name))).toEqual([]);
  });

  it('comes with the JSON Schema of gateway.yaml, which `npx vitest run --project structure -u` writes', async () => {
    const schema = `${JSON.stringify(gatewayJsonSchema(), null, 2)}\n`;
    await expect(schema).toMatchFileSnapshot(join(root, 'docs/gateway.schema.json'));
  });
});
