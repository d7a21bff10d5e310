import { asArray, isObject, type JsonObject, objectsIn } from '@gateway/json';

/**
 * A simple value that matches a JSON schema of the subset for structured outputs: constants and
 * first choices where the schema has them, else values built from member names. The same schema
 * always gives the same value.
 */
export function instanceOfSchema(schema: JsonObject): unknown {
  return instance(schema, { root: schema, name: 'text', depth: 0 });
}

interface Place {
  readonly root: JsonObject;
  /** The name of the member that the value is for. */
  readonly name: string;
  readonly depth: number;
}

/** Below this depth only required members are created, so that recursive schemas terminate. */
const deepestOptional = 4;
const deepest = 16;

function instance(schema: JsonObject, place: Place): unknown {
  const inner = { ...place, depth: place.depth + 1 };
  if (inner.depth > deepest) return null;
  if ('const' in schema) return schema.const;
  if (typeof schema.$ref === 'string') return instance(resolve(schema.$ref, place.root), inner);
  const [choice] = asArray(schema.enum);
  if (choice !== undefined) return choice;
  const alternatives = objectsIn(schema.anyOf ?? schema.oneOf);
  const alternative = alternatives.find(({ type }) => type !== 'null') ?? alternatives[0];
  if (alternative !== undefined && schema.properties === undefined) return instance(alternative, inner);
  switch (typeOf(schema)) {
    case 'object':
      return objectOf(schema, inner);
    case 'array':
      return [instance(isObject(schema.items) ? schema.items : {}, inner)];
    case 'integer':
    case 'number':
      return Number(schema.minimum ?? 1);
    case 'boolean':
      return true;
    case 'null':
      return null;
    default:
      return place.name;
  }
}

function objectOf({ properties, required }: JsonObject, place: Place): JsonObject {
  const wanted = Object.entries(isObject(properties) ? properties : {}).filter(
    ([name]) => place.depth <= deepestOptional || asArray(required).includes(name),
  );
  return Object.fromEntries(
    wanted.map(([name, schema]) => [name, isObject(schema) ? instance(schema, { ...place, name }) : null]),
  );
}

/**
 * Resolves a reference such as `#/$defs/node`; any other becomes a schema that allows everything.
 */
function resolve(reference: string, root: JsonObject): JsonObject {
  const found = reference
    .split('/')
    .slice(1)
    .reduce((value: unknown, key) => (isObject(value) ? value[key] : undefined), root);
  return isObject(found) ? found : {};
}

function typeOf({ type, properties, items }: JsonObject): unknown {
  const types = [type].flat();
  if (properties !== undefined) return 'object';
  return types.find((each) => each !== 'null') ?? types[0] ?? (items === undefined ? 'string' : 'array');
}
