import { describe, expect, it } from 'vitest';
import { parseYaml } from './gateway-yaml.ts';

describe('a YAML text', () => {
  const text = 'a: &a { x: 1, y: 2 }\nb: { <<: *a, y: 3 }\n';

  it('has no merge keys', () => {
    expect(parseYaml(text, 'f').value).toEqual({ a: { x: 1, y: 2 }, b: { '<<': { x: 1, y: 2 }, y: 3 } });
  });

  it('can have merge keys', () => {
    expect(parseYaml(text, 'f', { mergeKeys: true }).value).toEqual({ a: { x: 1, y: 2 }, b: { x: 1, y: 3 } });
  });

  it.each([true, false])('names the places of problems, and repeats no value (merge keys: %s)', (mergeKeys) => {
    const parse = (broken: string) => () => parseYaml(broken, 'f.yaml', { mergeKeys });
    expect(parse('a: 1\na: sk-secret\n')).toThrow('f.yaml:2:1: Map keys must be unique');
    expect(parse('a: [sk-secret\n')).toThrow(/^f\.yaml:\d+:\d+: [^:]*$/);
  });

  it.each([
    ['brackets', '['.repeat(20_000)],
    ['braces', '{'.repeat(20_000)],
    ['both, each on a line', '[\n{a: '.repeat(20_000)],
    ['dashes', '- '.repeat(20_000)],
    ['question marks', '? '.repeat(20_000)],
    ['blanks', `${Array.from({ length: 2_000 }, (_, level) => `${' '.repeat(level)}a:`).join('\n')}`],
    ['brackets in a text', `a: "${'['.repeat(20_000)}"`],
  ])('of many %s is refused before it is parsed', (_, text) => {
    expect(() => parseYaml(text, 'x.yaml')).toThrow(/^x\.yaml:\d+:1: it is nested too deeply$/m);
  });

  it('of a hundred levels is parsed, and a line of many dashes too', () => {
    expect(parseYaml(`${'['.repeat(100)}1${']'.repeat(100)}`, 'x.yaml').value).toHaveLength(1);
    expect(parseYaml(`${'- '.repeat(10)}${'-'.repeat(5_000)}`, 'x.yaml').value).toBeDefined();
    const keys = Array.from({ length: 1_000 }, (_, index) => ({ key: index, limits: { rpm: null } }));
    expect(parseYaml(JSON.stringify(keys), 'x.json').value).toEqual(keys);
    expect(parseYaml('[1]\n'.replace('1', `${'[1], '.repeat(5_000)}[1]`), 'x.yaml').value).toHaveLength(5_001);
  });
});
