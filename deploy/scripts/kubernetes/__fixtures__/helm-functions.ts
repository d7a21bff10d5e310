import { stringify } from 'yaml';
import { isMap } from './helm-syntax.ts';

/** Calls a function of Helm's template language. */
export function callFunction(name: string, args: readonly unknown[]): unknown {
  const called = Object.hasOwn(functions, name) ? functions[name] : undefined;
  if (called === undefined) throw new Error(`the function ${name} is not known here`);
  return called(...args);
}

const functions: Readonly<Record<string, (...args: readonly unknown[]) => unknown>> = {
  add: (...terms) => terms.map(integerOf).reduce((sum, term) => sum + term, 0),
  and: (...values) => values.find((value) => !isTrue(value)) ?? values.at(-1),
  concat: (...lists) => lists.flatMap((list) => list),
  // The value comes last, as it does through a pipe.
  default: (usual, value) => (isTrue(value) ? value : usual),
  dict: (...pairs) =>
    Object.fromEntries(pairs.flatMap((key, index) => (index % 2 === 0 ? [[String(key), pairs[index + 1]]] : []))),
  eq: (one, other) => one === other,
  int: integerOf,
  kebabcase: (text) =>
    stringOf(text)
      .replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => `-${letter}`)
      .toLowerCase(),
  list: (...items) => items,
  lower: (text) => stringOf(text).toLowerCase(),
  // The first map that has a key counts.
  merge: (...maps) => Object.assign({}, ...maps.toReversed()),
  mul: (...factors) => factors.map(integerOf).reduce((product, factor) => product * factor, 1),
  nindent: (columns, text) => `\n${stringOf(text).replaceAll(/^/gm, ' '.repeat(integerOf(columns)))}`,
  not: (value) => !isTrue(value),
  quote: (value) => JSON.stringify(textOf(value)),
  regexReplaceAll: (pattern, text, replacement) =>
    stringOf(text).replaceAll(new RegExp(stringOf(pattern), 'g'), stringOf(replacement)),
  replace: (old, replacement, text) => stringOf(text).replaceAll(stringOf(old), stringOf(replacement)),
  toJson: (value) => JSON.stringify(value),
  toYaml: (value) => stringify(value, { lineWidth: 0, aliasDuplicateObjects: false }).trimEnd(),
  trimSuffix: (suffix, text) => {
    const [end, whole] = [stringOf(suffix), stringOf(text)];
    return whole.endsWith(end) ? whole.slice(0, -end.length) : whole;
  },
  trunc: (length, text) => stringOf(text).slice(0, integerOf(length)),
  upper: (text) => stringOf(text).toUpperCase(),
};

/** Empty values are false. */
export function isTrue(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return isMap(value) ? Object.keys(value).length > 0 : Boolean(value);
}

/** A value inside other text. */
export function textOf(value: unknown): string {
  if (typeof value === 'string' || typeof value === 'boolean' || typeof value === 'number') return String(value);
  throw new Error('a list or a map is no text: use toYaml');
}

function stringOf(value: unknown): string {
  if (typeof value !== 'string') throw new Error(`${String(value)} is no text`);
  return value;
}

function integerOf(value: unknown): number {
  if (typeof value !== 'number' || !Number.isInteger(value)) throw new Error(`${String(value)} is no whole number`);
  return value;
}
