import { isJsonObject, type JsonObject } from '../json-value.ts';
import { invalidRequest } from './errors.ts';

const refusedKeywords = [
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'minLength', 'maxLength'],
  ...['maxItems', 'uniqueItems', 'not', 'oneOf', 'patternProperties'],
];

/**
 * Checks that a schema is of the subset that structured outputs take.
 *
 * @throws {ProviderRefusal}
 * @see https://docs.claude.com/en/docs/build-with-claude/structured-outputs
 */
export function checkOutputSchema(schema: JsonObject): void {
  const refused = refusedKeywords.find((keyword) => keyword in schema);
  if (refused !== undefined) {
    throw schemaProblem(`For '${String(schema.type)}' type, property '${refused}' is not supported`);
  }
  if (schema.type === 'object' && schema.additionalProperties !== false) {
    throw schemaProblem("For 'object' type, 'additionalProperties' must be explicitly set to false");
  }
  for (const child of childrenOf(schema)) checkOutputSchema(child);
}

function childrenOf(schema: JsonObject): readonly JsonObject[] {
  const named = [schema.properties, schema.$defs, schema.definitions].filter(isJsonObject).flatMap(Object.values);
  const combined = [schema.anyOf, schema.allOf].flat();
  return [schema.items, ...named, ...combined].filter(isJsonObject);
}

function schemaProblem(problem: string) {
  return invalidRequest(`output_config.format.schema: ${problem}`);
}
