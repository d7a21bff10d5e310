import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type CodeBlock, placeOf, readPages } from '@gateway/testkit/pages';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { schemaProblems } from './__fixtures__/strict-schemas.ts';
import { valuesSchema } from './values.ts';

const root = join(import.meta.dirname, '../../..');
const members = z.record(z.string(), z.unknown());

const documents = (await readPages(root))
  .flatMap(({ blocks }) => blocks)
  .filter(({ language }) => language === 'yaml')
  .flatMap((block) =>
    parseAllDocuments(block.text).map((document) => ({ block, parsed: members.safeParse(document.toJS()) })),
  )
  .flatMap(({ block, parsed }) => (parsed.success ? [{ place: placeOf(block), block, document: parsed.data }] : []));

const objects = documents.filter(({ document }) => 'apiVersion' in document);
const parts = documents.filter(({ document }) => 'volumeMounts' in document || Array.isArray(document.env));
const kustomizations = documents.filter(({ block }) => isKustomization(block));
const chartValues = documents.filter(({ block }) => /^# (my-values\.yaml|values of the chart)\n/.test(block.text));

describe('the YAML of pages', () => {
  it('is found', () => {
    const kinds = [objects, parts, kustomizations, chartValues];
    expect(kinds.every(({ length }) => length > 0)).toBe(true);
  });

  it.each(objects)('is an object that a cluster accepts: $place', ({ document }) => {
    expect(schemaProblems(document)).toEqual([]);
  });

  it.each(parts)('is a part of a container: $place', ({ document }) => {
    const pod = { apiVersion: 'v1', kind: 'Pod', spec: { containers: [{ name: 'limiter', ...document }] } };
    expect(schemaProblems(pod)).toEqual([]);
  });

  it.each(chartValues)('are values that the chart takes: $place', ({ document }) => {
    expect(() => valuesSchema.parse(document)).not.toThrow();
  });

  it.each(kustomizations)('is a kustomization of folders that are there: $place', ({ document }) => {
    const { resources, patches } = kustomization.parse(document);
    expect(resources.filter((path) => !existsSync(join(root, path, 'kustomization.yaml')))).toEqual([]);
    expect(patches.length).toBeGreaterThan(0);
  });
});

function isKustomization({ text }: CodeBlock): boolean {
  return text.startsWith('# kustomization.yaml\n');
}

/** The fields that the page uses; any other field fails the test. */
const kustomization = z.strictObject({
  namespace: z.string(),
  resources: z.array(z.string()),
  images: z.array(z.strictObject({ name: z.string(), newName: z.string(), newTag: z.string() })),
  patches: z.array(
    z.union([
      z.strictObject({ path: z.string() }),
      z.strictObject({ target: z.strictObject({ kind: z.string(), name: z.string() }), patch: z.string() }),
    ]),
  ),
});
