import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Metrics } from '@gateway/telemetry';
import { beforeAll, describe, expect, it } from 'vitest';
import { familiesOf } from '../observability/exposition.ts';
import { metricOf, readMetricReference } from '../observability/metric-reference.ts';
import { isTest, readSourceTree } from './source-tree.ts';

const root = join(import.meta.dirname, '../..');

/**
 * Code and documents know the same metrics. deploy/scripts/observability compares dashboards and
 * rules with the reference; suite/observability*.test.ts compares the output of real processes with
 * it.
 */
describe('the names of metrics', () => {
  const reference = readMetricReference();
  const labels = new Set([...reference.values()].flatMap((metric) => metric.labels));
  let code: ReturnType<typeof namesInCode>;
  let defaults: readonly string[];

  beforeAll(async () => {
    code = namesInCode(await readSourceTree(root));
    defaults = [...familiesOf(await Metrics.ofProcess().exposition()).keys()];
  });

  it('are all found', () => {
    expect(reference.size).toBeGreaterThan(80);
    expect(code.literals.length).toBeGreaterThan(40);
    expect(defaults.length).toBeGreaterThan(20);
  });

  it('in code are all in the reference', () => {
    expect([...code.literals, ...defaults].filter((name) => !reference.has(name) && !labels.has(name))).toEqual([]);
  });

  it('in the reference are all in code', () => {
    const known = new Set([...code.literals, ...defaults]);
    const isMade = (name: string) =>
      code.patterns.some(({ pattern, words }) => words.has(pattern.exec(name)?.[1] ?? ''));
    expect([...reference.keys()].filter((name) => !known.has(name) && !isMade(name))).toEqual([]);
  });

  it('in documents, examples and deployments are in the reference', () => {
    const paths = globSync(['docs/**/*.md', 'services/*/README.md', 'deploy/kubernetes/**/*.{yaml,md}', 'README.md'], {
      cwd: root,
    });
    const unknown = paths.flatMap((path) => {
      // Decisions are not changed later.
      if (path.startsWith('docs/adr/')) return [];
      const text = readFileSync(join(root, path), 'utf8');
      const named = [
        ...text.matchAll(/(?<![\w./:-])(?:gateway|gen_ai|http|rpc|db|messaging|process|nodejs)_[a-z0-9_]+/g),
      ];
      return (
        named
          .map(([name]) => name)
          .filter((name) => !reference.has(metricOf(name, reference)) && !labels.has(name))
          // A family of names: `gateway_edge_outbox_…`, `gateway_limiter_*`.
          .filter((name) => !(name.endsWith('_') && [...reference.keys()].some((known) => known.startsWith(name))))
          .map((name) => `${path}: ${name}`)
      );
    });
    expect(unknown).toEqual([]);
  });
});

/**
 * Literal names in the code, and patterns of names that are composed from words of the same file.
 */
function namesInCode(tree: ReadonlyMap<string, string>) {
  const registering = [...tree].filter(
    ([path, text]) =>
      /^(libs|services)\/.*\.ts$/.test(path) && !isTest(path) && /\b(counter|gauge|histogram)\(/.test(text),
  );
  return {
    literals: registering.flatMap(([, text]) => [...text.matchAll(quoted)].map(([, name = '']) => name)),
    patterns: registering.flatMap(([, text]) => {
      const words = new Set([...text.matchAll(/'(\w+)'/g)].map(([, word = '']) => word));
      return [...text.matchAll(/`((?:gateway|gen_ai|http|rpc|db|messaging)_\w*\$\{\w+\}\w*)`/g)].map(
        ([, template = '']) => ({ pattern: new RegExp(`^${template.replace(/\$\{\w+\}/, '(\\w+)')}$`), words }),
      );
    }),
  };
}

const quoted = /'((?:gateway|gen_ai|http|rpc|db|messaging)_\w+)'/g;
