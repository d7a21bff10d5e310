import { anchorOf } from '../docs/anchors.ts';
import { code } from './markdown.ts';
import { nameOf, type Schema } from './openapi.ts';

/** A field of an object, or of an object inside it. */
export interface Field {
  /** "choices[].message" */
  readonly path: string;
  readonly isRequired: boolean;
  readonly type: string;
  readonly description: string;
}

/**
 * The fields of a schema, with those of all variants: a path that several variants have is one
 * field, of any of their types.
 */
export function fieldsOf(schema: Schema): readonly Field[] {
  const byPath = Map.groupBy(fieldsIn(schema, ''), ({ path }) => path);
  return [...byPath.values()].map((same) => ({
    path: same[0]?.path ?? '',
    isRequired: same.every(({ isRequired }) => isRequired),
    type: [...new Set(same.map(({ type }) => type))].filter((type) => type !== '').join(' or '),
    description: [...new Set(same.map(({ description }) => description))].join(' ').trim(),
  }));
}

/** A schema in a few words, with links to the schemas that it names. */
export function typeOf(schema: Schema): string {
  const { $ref, enum: values, type, items } = schema;
  if ($ref !== undefined) return `[${nameOf($ref)}](#${anchorOf(nameOf($ref))})`;
  if (schema.const !== undefined) return literal(schema.const);
  if (values !== undefined) return values.map(literal).join(', ');
  const variants = schema.anyOf ?? schema.oneOf;
  if (type === undefined && variants !== undefined) return [...new Set(variants.map(typeOf))].join(' or ');
  const types = type === undefined ? [] : [type].flat();
  return types
    .map((each) => (each === 'array' && items !== undefined ? listOf(items) : (words[each] ?? each)))
    .join(' or ');
}

function fieldsIn(schema: Schema, prefix: string): readonly Field[] {
  const { properties = {}, required = [], items, anyOf = [], oneOf = [], allOf = [] } = schema;
  const own = Object.entries(properties).flatMap(([name, field]) => {
    if (typeof field === 'boolean') return [];
    const path = `${prefix}${name}`;
    const inner = field.items === undefined ? fieldsIn(field, `${path}.`) : fieldsIn(field.items, `${path}[].`);
    return [
      { path, isRequired: required.includes(name), type: typeOf(field), description: descriptionOf(field) },
      ...inner,
    ];
  });
  const ofItems = items === undefined || prefix !== '' ? [] : fieldsIn(items, '[].');
  // Variants of a schema with fields of its own only narrow these down.
  const variants = own.length > 0 ? [] : [...anyOf, ...oneOf, ...allOf];
  return [
    ...own,
    ...ofItems,
    ...variants.flatMap((each) =>
      fieldsIn(each.items ?? each, each.items === undefined ? prefix : `${prefix.slice(0, -1)}[].`),
    ),
  ];
}

function descriptionOf({ description = '', minimum, maximum, default: byDefault }: Schema): string {
  const bounds = [
    minimum === undefined ? '' : `At least ${minimum}.`,
    maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? '' : `At most ${maximum}.`,
    byDefault === undefined ? '' : `Default: ${literal(byDefault)}.`,
  ];
  return [description.trim(), ...bounds].filter((text) => text !== '').join(' ');
}

function listOf(items: Schema): string {
  const of = typeOf(items);
  return of === '' || of === 'object' ? 'list of objects' : `list of ${of}`;
}

function literal(value: unknown): string {
  return code(JSON.stringify(value));
}

const words: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'whole number',
  boolean: 'true or false',
  array: 'list',
};
