import { isJsonObject, type JsonObject, toArray, toObject, toObjects } from '../json-value.ts';

/**
 * The simplest value that fits a JSON schema: constants and first choices where the schema names them, else values made
 * from member names and bounds. The same schema always gives the same value.
 */
export function instanceOfSchema(schema: JsonObject): unknown {
  return new SchemaReader(schema).instance(schema, 'text', 0);
}

/** Below this depth only required members are made, so that recursive schemas end. */
const deepestOptional = 4;
const deepest = 16;

class SchemaReader {
  readonly #root: JsonObject;

  constructor(root: JsonObject) {
    this.#root = root;
  }

  instance(schema: JsonObject, name: string, depth: number): unknown {
    if (depth > deepest) return null;
    if ('const' in schema) return schema.const;
    const choices = toArray(schema.enum);
    if (choices.length > 0) return choices[0];
    const other = this.#delegate(schema);
    if (other !== undefined) return this.instance(other, name, depth + 1);
    return this.#instanceOfType(typeOf(schema), schema, name, depth);
  }

  /** The schema that a reference or a combination stands for. */
  #delegate(schema: JsonObject): JsonObject | undefined {
    if (typeof schema.$ref === 'string') return this.#resolve(schema.$ref) ?? {};
    const parts = toObjects(schema.allOf);
    if (parts.length > 0) return mergeSchemas([withoutMember(schema, 'allOf'), ...parts]);
    if (schema.properties !== undefined) return undefined;
    const alternatives = [...toObjects(schema.anyOf), ...toObjects(schema.oneOf)];
    return alternatives.find((alternative) => alternative.type !== 'null') ?? alternatives[0];
  }

  #resolve(reference: string): JsonObject | undefined {
    if (!reference.startsWith('#')) return undefined;
    let found: unknown = this.#root;
    for (const segment of reference.split('/').slice(1)) {
      const key = decodeURIComponent(segment).replaceAll('~1', '/').replaceAll('~0', '~');
      found = isJsonObject(found) || Array.isArray(found) ? Reflect.get(found, key) : undefined;
    }
    return isJsonObject(found) ? found : undefined;
  }

  #instanceOfType(type: string, schema: JsonObject, name: string, depth: number): unknown {
    switch (type) {
      case 'object':
        return this.#objectOf(schema, depth);
      case 'array':
        return this.#arrayOf(schema, name, depth);
      case 'integer':
      case 'number':
        return numberOf(schema);
      case 'boolean':
        return true;
      case 'null':
        return null;
      default:
        return textOf(schema, name);
    }
  }

  #objectOf(schema: JsonObject, depth: number): JsonObject {
    const required = new Set(toArray(schema.required));
    const properties = isJsonObject(schema.properties) ? Object.entries(schema.properties) : [];
    const wanted = properties.filter(([name]) => depth <= deepestOptional || required.has(name));
    return Object.fromEntries(
      wanted.map(([name, property]) => [
        name,
        isJsonObject(property) ? this.instance(property, name, depth + 1) : null,
      ]),
    );
  }

  #arrayOf(schema: JsonObject, name: string, depth: number): readonly unknown[] {
    if (depth > deepestOptional && !(Number(schema.minItems) > 0)) return [];
    const item = isJsonObject(schema.items) ? schema.items : {};
    const wanted = Math.max(1, Number(schema.minItems ?? 1));
    return Array.from({ length: Math.min(wanted, 1000) }, () => this.instance(item, name, depth + 1));
  }
}

function typeOf(schema: JsonObject): string {
  const types = Array.isArray(schema.type) ? schema.type : [schema.type];
  const type: unknown = types.find((candidate) => candidate !== 'null') ?? types[0];
  if (typeof type === 'string') return type;
  if (schema.properties !== undefined) return 'object';
  return schema.items === undefined ? 'string' : 'array';
}

function mergeSchemas(schemas: readonly JsonObject[]): JsonObject {
  return {
    ...Object.assign({}, ...schemas),
    properties: Object.assign({}, ...schemas.map((schema) => toObject(schema.properties))),
    required: schemas.flatMap((schema) => toArray(schema.required)),
  };
}

function withoutMember(schema: JsonObject, name: string): JsonObject {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => key !== name));
}

function numberOf(schema: JsonObject): number {
  const least = typeof schema.exclusiveMinimum === 'number' ? schema.exclusiveMinimum + 1 : Number(schema.minimum ?? 1);
  const most =
    typeof schema.exclusiveMaximum === 'number' ? schema.exclusiveMaximum - 1 : Number(schema.maximum ?? least);
  const step = Number(schema.multipleOf ?? 0);
  const value = Math.min(least, most);
  return step > 0 ? Math.ceil(value / step) * step : value;
}

const textsOfFormats: Readonly<Record<string, string>> = {
  'date-time': '2026-01-31T12:00:00Z',
  date: '2026-01-31',
  time: '12:00:00Z',
  duration: 'PT1H',
  email: 'someone@example.com',
  hostname: 'example.com',
  uri: 'https://example.com/',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uuid: '00000000-0000-4000-8000-000000000000',
};

function textOf(schema: JsonObject, name: string): string {
  const text = textsOfFormats[String(schema.format)] ?? name;
  const padded = text.padEnd(Math.min(Number(schema.minLength ?? 0), 10_000), '-');
  return padded.slice(0, Number(schema.maxLength ?? padded.length));
}
