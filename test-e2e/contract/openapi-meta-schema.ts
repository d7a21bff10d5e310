/**
 * JSON Schema of the parts of OpenAPI 3.1 that docs/openapi.yaml uses. A member that OpenAPI does
 * not have, or that this document does not use so far, is an error. Schemas themselves are JSON
 * Schema 2020-12 and checked as such.
 * @see https://spec.openapis.org/oas/v3.1.1.html
 */
export const openApiMetaSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  $ref: '#/$defs/document',
  $defs: {
    document: object(
      {
        openapi: { type: 'string', pattern: '^3\\.1\\.\\d+$' },
        info: def('info'),
        servers: { type: 'array', items: def('server') },
        tags: { type: 'array', items: object({ name: text(), description: text() }, ['name']) },
        paths: {
          type: 'object',
          patternProperties: { '^/': def('pathItem'), '^x-': {} },
          additionalProperties: false,
        },
        components: def('components'),
      },
      ['openapi', 'info', 'paths'],
    ),
    info: object(
      {
        title: text(),
        version: text(),
        summary: text(),
        description: text(),
        license: object({ name: text(), identifier: text() }, ['name']),
      },
      ['title', 'version'],
    ),
    server: object(
      {
        url: text(),
        description: text(),
        variables: mapOf(object({ default: text(), description: text() }, ['default'])),
      },
      ['url'],
    ),
    pathItem: object({ get: def('operation'), post: def('operation') }, []),
    operation: object(
      {
        operationId: text(),
        tags: { type: 'array', items: text() },
        summary: text(),
        description: text(),
        security: { type: 'array', items: mapOf({ type: 'array', items: text() }) },
        parameters: { type: 'array', items: orReference('parameter') },
        requestBody: object({ description: text(), required: { type: 'boolean' }, content: def('content') }, [
          'content',
        ]),
        responses: {
          type: 'object',
          patternProperties: { '^([1-5]\\d\\d|default)$': orReference('response') },
          additionalProperties: false,
          minProperties: 1,
        },
      },
      ['operationId', 'summary', 'security', 'responses'],
    ),
    parameter: object(
      {
        name: text(),
        in: { enum: ['query', 'header', 'path', 'cookie'] },
        description: text(),
        required: { type: 'boolean' },
        schema: def('schema'),
        example: {},
      },
      ['name', 'in', 'schema'],
    ),
    response: object({ description: text(), headers: mapOf(orReference('header')), content: def('content') }, [
      'description',
    ]),
    header: object({ description: text(), required: { type: 'boolean' }, schema: def('schema') }, ['schema']),
    content: mapOf(
      object({ schema: def('schema'), examples: mapOf(object({ summary: text(), value: {} }, ['value'])) }, ['schema']),
    ),
    components: object(
      {
        schemas: mapOf(def('schema')),
        responses: mapOf(def('response')),
        parameters: mapOf(def('parameter')),
        headers: mapOf(def('header')),
        securitySchemes: mapOf(def('securityScheme')),
      },
      [],
    ),
    securityScheme: {
      oneOf: [
        object({ type: { const: 'http' }, scheme: text(), description: text() }, ['type', 'scheme']),
        object({ type: { const: 'apiKey' }, in: { const: 'header' }, name: text(), description: text() }, [
          'type',
          'in',
          'name',
        ]),
      ],
    },
    reference: {
      type: 'object',
      properties: { $ref: { type: 'string', pattern: '^#/' } },
      required: ['$ref'],
      additionalProperties: false,
    },
    schema: { $ref: 'https://json-schema.org/draft/2020-12/schema' },
  },
};

function object(properties: object, required: readonly string[]) {
  return { type: 'object', properties, required, patternProperties: { '^x-': {} }, additionalProperties: false };
}

function mapOf(values: object) {
  return { type: 'object', additionalProperties: values };
}

function orReference(name: string) {
  return { oneOf: [def('reference'), def(name)] };
}

function def(name: string) {
  return { $ref: `#/$defs/${name}` };
}

function text() {
  return { type: 'string', minLength: 1 };
}
