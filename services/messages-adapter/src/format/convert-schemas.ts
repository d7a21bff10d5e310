import { GatewayError } from '@gateway/errors';
import { asArray, asObject, asString } from '@gateway/json';
import type { JsonSchema, ToolSchema } from './provider-request.ts';

/**
 * A function's parameters as an `input_schema`: an object schema without `oneOf`, `anyOf` or `allOf` at its top, which the
 * format refuses; their branches are merged into one object. Throws `invalid_request`, naming the tool, when the schema
 * describes something else than an object.
 *
 * @see https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools
 */
export function convertToolSchema(toolName: string, parameters: JsonSchema | undefined): ToolSchema {
  if (parameters === undefined) return { type: 'object', properties: {} };
  const { oneOf, anyOf, allOf, ...schema } = parameters;
  if (!isObjectType(schema.type)) {
    throw new GatewayError(
      'invalid_request',
      `tools must have parameters of type object, which those of the tool "${toolName}" are not`,
    );
  }
  const branches: Branches = {
    alternatives: [...asArray(oneOf), ...asArray(anyOf)].map((branch) => resolve(branch, parameters)),
    parts: asArray(allOf).map((part) => resolve(part, parameters)),
  };
  const merged = branches.alternatives.length + branches.parts.length > 0 ? mergeBranches(schema, branches) : schema;
  return { ...merged, type: 'object', ...(schema.$ref === undefined && { properties: merged.properties ?? {} }) };
}

interface Branches {
  /** One of these holds. */
  readonly alternatives: readonly JsonSchema[];
  /** All of these hold. */
  readonly parts: readonly JsonSchema[];
}

/**
 * One object schema that takes whatever the branches take: all their properties, and required only what every call must
 * have. It may take more than they did; the tool itself still checks.
 */
function mergeBranches(schema: JsonSchema, { alternatives, parts }: Branches): JsonSchema {
  const fixed = [schema, ...parts];
  const required = new Set(fixed.flatMap(requiredOf));
  const [firstChoice, ...otherChoices] = alternatives.map((branch) => new Set(requiredOf(branch)));
  for (const name of firstChoice ?? []) if (otherChoices.every((names) => names.has(name))) required.add(name);
  const { additionalProperties: _, ...rest } = schema;
  return {
    ...rest,
    properties: mergeProperties([...fixed, ...alternatives]),
    ...(required.size > 0 && { required: [...required] }),
  };
}

function mergeProperties(schemas: readonly JsonSchema[]): JsonSchema {
  const variants = new Map<string, Map<string, unknown>>();
  for (const [name, property] of schemas.flatMap((schema) => Object.entries(asObject(schema.properties) ?? {}))) {
    variants.getOrInsertComputed(name, () => new Map()).set(JSON.stringify(property), property);
  }
  return Object.fromEntries([...variants].map(([name, known]) => [name, oneOfThese([...known.values()])]));
}

function oneOfThese(schemas: readonly unknown[]): unknown {
  return schemas.length === 1 ? schemas[0] : { anyOf: schemas };
}

function requiredOf(schema: JsonSchema): readonly string[] {
  return asArray(schema.required).flatMap((name) => asString(name) ?? []);
}

/** A branch itself, or the definition it refers to. Anything else has nothing to merge. */
function resolve(branch: unknown, root: JsonSchema): JsonSchema {
  const schema = asObject(branch) ?? {};
  return '$ref' in schema ? (definitionOf(schema.$ref, root) ?? {}) : schema;
}

function isObjectType(type: unknown): boolean {
  return type === undefined || type === 'object' || asArray(type).includes('object');
}

interface StructuredSchema {
  readonly schema: ToolSchema;
  /** Optional properties in it; the provider limits their sum over a request. */
  readonly optionalProperties: number;
}

/** Most optional properties that the schemas of one request may have together. */
export const maxOptionalProperties = 24;

/**
 * A JSON Schema cut down to what structured output understands: objects are closed, `oneOf` becomes `anyOf`, and limits
 * that the format does not know (`minimum`, `pattern`, …) go into the description instead.
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
    return { schema: { ...cleaned, type: 'object' }, ...seen };
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
  const required = new Set(requiredOf(schema));
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

const knownFormat = /^(date-time|time|date|duration|email|hostname|uri|ipv4|ipv6|uuid)$/;

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
  if (knownFormat.test(asString(schema.format) ?? '')) {
    const { format, ...others } = schema;
    return { ...describeLimits(others), format };
  }
  const unknown = limits
    .filter((limit) => limit in schema)
    .map((limit) => `${limit}: ${JSON.stringify(schema[limit])}`);
  if (unknown.length === 0) return {};
  const description = [asString(schema.description) ?? '', `(${unknown.join(', ')})`].filter(Boolean).join(' ');
  return { description };
}

/** Most references followed before a schema counts as too tangled. */
const maxReferences = 500;

/** Whether every `$ref` points to a definition of the schema itself and none leads back to where it came from. */
function hasPlainReferences(root: JsonSchema): boolean {
  const references = referencesIn(root);
  if (references.length > maxReferences) return false;
  const finished = new Set<string>();
  return references.every((reference) => endsSomewhere(reference, root, new Set(), finished));
}

/** The definition that a local reference names; undefined for any other reference. */
function definitionOf(reference: unknown, root: JsonSchema): JsonSchema | undefined {
  const [, section, name] =
    (typeof reference === 'string' && /^#\/(\$defs|definitions)\/([^/]+)$/.exec(reference)) || [];
  return section === undefined || name === undefined ? undefined : asObject(asObject(root[section])?.[name]);
}

function endsSomewhere(reference: string, root: JsonSchema, path: ReadonlySet<string>, finished: Set<string>): boolean {
  if (finished.has(reference)) return true;
  const definition = definitionOf(reference, root);
  if (definition === undefined || path.has(reference)) return false;
  const longerPath = new Set(path).add(reference);
  const ends = referencesIn(definition).every((next) => endsSomewhere(next, root, longerPath, finished));
  if (ends) finished.add(reference);
  return ends;
}

function referencesIn(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(referencesIn);
  const schema = asObject(value);
  if (schema === undefined) return [];
  const nested = Object.values(schema).flatMap(referencesIn);
  return typeof schema.$ref === 'string' ? [schema.$ref, ...nested] : nested;
}
