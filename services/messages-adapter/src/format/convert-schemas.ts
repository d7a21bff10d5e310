import { GatewayError } from '@gateway/errors';
import { asArray, asObject, asString } from '@gateway/json';
import type { JsonSchema, ToolSchema } from './provider-request.ts';

/**
 * Converts a function's parameters to an `input_schema`: an object schema without `oneOf`, `anyOf`
 * or `allOf` at its top level, which the format refuses; their branches are merged into one object.
 * Throws `invalid_request` with the name of the tool when the schema does not describe an object.
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
  /** At least one of these applies. */
  readonly alternatives: readonly JsonSchema[];
  /** All of these apply. */
  readonly parts: readonly JsonSchema[];
}

/**
 * One object schema that accepts everything that the branches accept: it has all their properties,
 * and requires only what every call must have. It may accept more than they did; the tool itself
 * still validates.
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

/** The branch itself, or the definition that it refers to. Anything else has nothing to merge. */
function resolve(branch: unknown, root: JsonSchema): JsonSchema {
  const schema = asObject(branch) ?? {};
  return '$ref' in schema ? (definitionOf(schema.$ref, root) ?? {}) : schema;
}

function isObjectType(type: unknown): boolean {
  return type === undefined || type === 'object' || asArray(type).includes('object');
}

interface StructuredSchema {
  readonly schema: ToolSchema;
  /** The number of optional properties in it; the provider limits their sum over a request. */
  readonly optionalProperties: number;
}

/** The maximum number of optional properties in all schemas of one request. */
export const maxOptionalProperties = 24;

/**
 * Reduces a JSON Schema to what structured output supports: objects are closed, `oneOf` becomes
 * `anyOf`, and unsupported keywords (`minimum`, `pattern`, `contains`, …) move into the
 * description. Undefined when the schema can't be expressed: recursive, open maps, values of any
 * kind, too many optional members.
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
  if (schema === undefined || unfitKeywords.some((keyword) => keyword in schema)) throw new UnfitSchema();
  const cleaned = {
    ...keptKeywords(schema),
    ...cleanCombinations(schema, seen),
    ...cleanDefinitions(schema, seen),
    ...cleanArray(schema, seen),
    ...cleanObject(schema, seen),
  };
  if (!kindKeywords.some((keyword) => keyword in cleaned) || closesTwice(cleaned)) throw new UnfitSchema();
  return { ...cleaned, ...describeRest(schema, cleaned) };
}

const kindKeywords = ['type', '$ref', 'anyOf', 'allOf', 'enum', 'const'];

/**
 * They change the meaning of other keywords, which no description can replace: references
 * elsewhere, and lists with a schema for each item.
 */
const unfitKeywords = ['$dynamicRef', '$recursiveRef', 'prefixItems', 'patternProperties'];

function keptKeywords(schema: JsonSchema): JsonSchema {
  if ([...asArray(schema.enum), schema.const].some((value) => typeof value === 'object' && value !== null)) {
    throw new UnfitSchema();
  }
  const kept = ['type', 'title', 'description', 'const', 'enum', 'default', '$ref'].filter(
    (keyword) => keyword in schema,
  );
  if (knownFormat.test(asString(schema.format) ?? '')) kept.push('format');
  return Object.fromEntries(kept.map((keyword) => [keyword, schema[keyword]]));
}

const knownFormat = /^(date-time|time|date|duration|email|hostname|uri|ipv4|ipv6|uuid)$/;

/** A schema with two combinations requires both. */
function cleanCombinations(schema: JsonSchema, seen: Seen): JsonSchema {
  const eachOf = (schemas: unknown) => asArray(schemas).map((branch) => clean(branch, seen));
  const [anyOf, oneOf, allOf] = [eachOf(schema.anyOf), eachOf(schema.oneOf), eachOf(schema.allOf)];
  if (allOf.some((part) => '$ref' in part)) throw new UnfitSchema();
  const choices = [anyOf, oneOf].filter((choice) => choice.length > 0);
  const parts = choices.length > 1 ? [...allOf, { anyOf: oneOf }] : allOf;
  return { ...(choices[0] && { anyOf: choices[0] }), ...(parts.length > 0 && { allOf: parts }) };
}

/**
 * Whether several closed objects apply at once: each would refuse the members of the others. A
 * choice closes when one of its branches does, and the target of a reference may close as well.
 */
function closesTwice(cleaned: JsonSchema): boolean {
  const { allOf, anyOf, $ref, additionalProperties } = cleaned;
  const conditions = [...asArray(allOf), { anyOf }, { $ref }, { additionalProperties }];
  return conditions.filter(closes).length > 1;
}

function closes(cleaned: unknown): boolean {
  const { additionalProperties, $ref, anyOf, allOf } = asObject(cleaned) ?? {};
  return additionalProperties === false || $ref !== undefined || [...asArray(anyOf), ...asArray(allOf)].some(closes);
}

function cleanDefinitions(schema: JsonSchema, seen: Seen): JsonSchema {
  const sections = ['$defs', 'definitions'].filter((section) => section in schema);
  return Object.fromEntries(sections.map((section) => [section, cleanEach(schema[section], seen)]));
}

function cleanArray(schema: JsonSchema, seen: Seen): JsonSchema {
  return allows(schema, 'array', 'items') ? { items: clean(schema.items, seen) } : {};
}

function cleanObject(schema: JsonSchema, seen: Seen): JsonSchema {
  if (!allows(schema, 'object', 'properties')) return {};
  const properties = asObject(schema.properties) ?? {};
  const names = Object.keys(properties);
  const { additionalProperties, unevaluatedProperties } = schema;
  const isMap = [additionalProperties, unevaluatedProperties].some((others) => asObject(others) !== undefined);
  // A closed object without members could only be {}, which is not what an open map is for.
  if (isMap || (names.length === 0 && additionalProperties !== false)) throw new UnfitSchema();
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

/**
 * Whether values of a type are allowed: by the listed types or, without any, by the keyword that
 * describes them.
 */
function allows({ type, ...schema }: JsonSchema, wanted: string, keyword: string): boolean {
  return type === undefined ? keyword in schema : type === wanted || asArray(type).includes(wanted);
}

function cleanEach(schemas: unknown, seen: Seen): JsonSchema {
  const entries = Object.entries(asObject(schemas) ?? {});
  return Object.fromEntries(entries.map(([name, schema]) => [name, clean(schema, seen)]));
}

/** The description, extended by what the cleaned schema does not express. */
function describeRest(schema: JsonSchema, cleaned: JsonSchema): JsonSchema {
  const rest = Object.keys(schema).filter((keyword) => !(keyword in cleaned) && !isSaid(keyword, cleaned));
  if (rest.length === 0) return {};
  const texts = rest.map((keyword) => `${keyword}: ${JSON.stringify(schema[keyword])}`);
  return { description: [asString(schema.description) ?? '', `(${texts.join(', ')})`].filter(Boolean).join(' ') };
}

/** `anyOf` expresses `oneOf`. A closed object expresses that it has no other members. */
function isSaid(keyword: string, cleaned: JsonSchema): boolean {
  if (keyword === 'oneOf') return 'anyOf' in cleaned;
  return keyword === 'unevaluatedProperties' ? 'additionalProperties' in cleaned : namesOnly.has(keyword);
}

/**
 * Keywords that name a schema or its dialect, or that address its authors: they do not constrain
 * values.
 */
const namesOnly: ReadonlySet<string> = new Set([
  ...['$schema', '$id', '$anchor', '$dynamicAnchor', '$vocabulary', '$comment'],
  ...['id', '$recursiveAnchor'],
]);

/** The maximum number of references to follow before a schema counts as too complex. */
const maxReferences = 500;

/**
 * Whether every `$ref` points to a definition in the schema itself and none leads back to its
 * origin.
 */
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
