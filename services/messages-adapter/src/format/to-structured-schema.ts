import { asArray, asObject, asString } from '@gateway/json';
import type { JsonSchema } from './messages-request.ts';
import { hasPlainReferences } from './schema-references.ts';

export interface StructuredSchema {
  readonly schema: JsonSchema;
  /** Optional properties in it; the provider limits their sum over a request. */
  readonly optionalProperties: number;
}

/** Most optional properties that the schemas of one request may have together. */
export const maxOptionalProperties = 24;

/**
 * A JSON Schema cut down to what structured output understands: objects are closed, `oneOf` becomes `anyOf`, and limits
 * that the format does not know (`minimum`, `pattern`, …) are told to the model in the description instead.
 * Undefined when the schema can't be said that way: recursive, open maps, values of any kind, too many optional members.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/structured-outputs
 */
export function toStructuredSchema(schema: JsonSchema): StructuredSchema | undefined {
  if (!hasPlainReferences(schema)) return undefined;
  const seen = { optionalProperties: 0 };
  try {
    const cleaned = clean(schema, seen);
    if (cleaned.type !== 'object' || seen.optionalProperties > maxOptionalProperties) return undefined;
    return { schema: cleaned, ...seen };
  } catch (thrown) {
    if (thrown instanceof UnfitSchema) return undefined;
    throw thrown;
  }
}

class UnfitSchema extends Error {}

interface Seen {
  optionalProperties: number;
}

function clean(value: unknown, seen: Seen): JsonSchema {
  const schema = asObject(value);
  if (schema === undefined) throw new UnfitSchema();
  const cleaned = {
    ...keptKeywords(schema),
    ...cleanCombinations(schema, seen),
    ...cleanDefinitions(schema, seen),
    ...cleanArray(schema, seen),
    ...cleanObject(schema, seen),
    ...describeLimits(schema),
  };
  if (!kindKeywords.some((keyword) => keyword in cleaned)) throw new UnfitSchema();
  return cleaned;
}

const kindKeywords = ['type', '$ref', 'anyOf', 'allOf', 'enum', 'const'];

function keptKeywords(schema: JsonSchema): JsonSchema {
  if ([...asArray(schema.enum), schema.const].some((value) => typeof value === 'object' && value !== null)) {
    throw new UnfitSchema();
  }
  const kept = ['type', 'title', 'description', 'const', 'enum', 'default', '$ref'];
  return Object.fromEntries(kept.filter((keyword) => keyword in schema).map((keyword) => [keyword, schema[keyword]]));
}

function cleanCombinations(schema: JsonSchema, seen: Seen): JsonSchema {
  const anyOf = [...asArray(schema.anyOf), ...asArray(schema.oneOf)].map((branch) => clean(branch, seen));
  const allOf = asArray(schema.allOf).map((part) => clean(part, seen));
  if (allOf.some((part) => '$ref' in part)) throw new UnfitSchema();
  return { ...(anyOf.length > 0 && { anyOf }), ...(allOf.length > 0 && { allOf }) };
}

function cleanDefinitions(schema: JsonSchema, seen: Seen): JsonSchema {
  const sections = ['$defs', 'definitions'].filter((section) => section in schema);
  return Object.fromEntries(sections.map((section) => [section, cleanEach(schema[section], seen)]));
}

function cleanArray(schema: JsonSchema, seen: Seen): JsonSchema {
  return schema.type === 'array' || schema.items !== undefined ? { items: clean(schema.items, seen) } : {};
}

function cleanObject(schema: JsonSchema, seen: Seen): JsonSchema {
  if (schema.type !== 'object' && schema.properties === undefined) return {};
  const properties = asObject(schema.properties) ?? {};
  const names = Object.keys(properties);
  const isMap = asObject(schema.additionalProperties) !== undefined || schema.patternProperties !== undefined;
  // A closed object without members could only ever be {}, which is not what an open map is meant to hold.
  if (isMap || (names.length === 0 && schema.additionalProperties !== false)) throw new UnfitSchema();
  const required = new Set(asArray(schema.required).flatMap((name) => asString(name) ?? []));
  const requiredNames = names.filter((name) => required.has(name));
  seen.optionalProperties += names.length - requiredNames.length;
  return {
    type: schema.type ?? 'object',
    properties: cleanEach(properties, seen),
    required: requiredNames,
    additionalProperties: false,
  };
}

function cleanEach(schemas: unknown, seen: Seen): JsonSchema {
  const entries = Object.entries(asObject(schemas) ?? {});
  return Object.fromEntries(entries.map(([name, schema]) => [name, clean(schema, seen)]));
}

const knownFormats: readonly unknown[] = [
  'date-time',
  'time',
  'date',
  'duration',
  'email',
  'hostname',
  'uri',
  'ipv4',
  'ipv6',
  'uuid',
];

const limits = [
  'format',
  'pattern',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'uniqueItems',
  'not',
];

function describeLimits(schema: JsonSchema): JsonSchema {
  if (knownFormats.includes(schema.format)) {
    const { format, ...others } = schema;
    return { ...describeLimits(others), format };
  }
  const told = limits.filter((limit) => limit in schema).map((limit) => `${limit}: ${JSON.stringify(schema[limit])}`);
  if (told.length === 0) return {};
  const description = [asString(schema.description) ?? '', `(${told.join(', ')})`].filter(Boolean).join(' ');
  return { description };
}
