import { GatewayError } from '@gateway/errors';
import { asArray, asObject, asString } from '@gateway/json';
import type { JsonSchema } from './messages-request.ts';
import { definitionOf } from './schema-references.ts';

/**
 * A function's parameters as an `input_schema`: an object schema without `oneOf`, `anyOf` or `allOf` at its top, which the
 * format refuses; their branches are merged into one object. Throws `invalid_request`, naming the tool, when the schema
 * describes something else than an object.
 *
 * @see https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools
 */
export function convertToolSchema(toolName: string, parameters: JsonSchema | undefined): JsonSchema {
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
    const known = variants.get(name) ?? new Map<string, unknown>();
    variants.set(name, known.set(JSON.stringify(property), property));
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
