import { asObject } from '@gateway/json';
import type { JsonSchema } from './messages-request.ts';

/** Most references followed before a schema counts as too tangled. */
const maxReferences = 500;

/** Whether every `$ref` points to a definition of the schema itself and none leads back to where it came from. */
export function hasPlainReferences(root: JsonSchema): boolean {
  const references = referencesIn(root);
  if (references.length > maxReferences) return false;
  const finished = new Set<string>();
  return references.every((reference) => endsSomewhere(reference, root, new Set(), finished));
}

/** The definition that a local reference names; undefined for any other reference. */
export function definitionOf(reference: unknown, root: JsonSchema): JsonSchema | undefined {
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
