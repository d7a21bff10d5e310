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
});
