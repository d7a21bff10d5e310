import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';

// The parts of an OpenAPI document that the page shows. test-e2e/structure/openapi.test.ts checks
// the document itself.

const reference = z.object({ $ref: z.string() });

const schema = z.object({
  $ref: z.string().optional(),
  description: z.string().optional(),
  type: z.union([z.string(), z.array(z.string())]).optional(),
  const: z.unknown().optional(),
  enum: z.array(z.unknown()).optional(),
  default: z.unknown().optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  required: z.array(z.string()).optional(),
  get properties() {
    return z.record(z.string(), z.union([schema, z.boolean()])).optional();
  },
  get items() {
    return schema.optional();
  },
  get anyOf() {
    return z.array(schema).optional();
  },
  get oneOf() {
    return z.array(schema).optional();
  },
  get allOf() {
    return z.array(schema).optional();
  },
});

const content = z.record(
  z.string(),
  z.object({
    schema,
    'x-event-schema': reference.optional(),
    examples: z.record(z.string(), z.object({ summary: z.string().optional(), value: z.unknown() })).optional(),
  }),
);

const described = z.object({ description: z.string(), schema });
const response = z.object({
  description: z.string(),
  headers: z.record(z.string(), reference).optional(),
  content: content.optional(),
});

const operation = z.object({
  summary: z.string(),
  description: z.string(),
  security: z.array(z.record(z.string(), z.array(z.string()))),
  parameters: z.array(reference).optional(),
  requestBody: z.object({ description: z.string(), content }).optional(),
  responses: z.record(z.string(), reference),
});

const document = z.object({
  info: z.object({ description: z.string() }),
  paths: z.record(z.string(), z.object({ get: operation.optional(), post: operation.optional() })),
  components: z.object({
    securitySchemes: z.record(z.string(), z.object({ description: z.string() })),
    parameters: z.record(z.string(), described.extend({ name: z.string() })),
    headers: z.record(z.string(), described),
    responses: z.record(z.string(), response),
    schemas: z.record(z.string(), schema),
  }),
});

export type OpenApi = z.infer<typeof document>;
export type Operation = z.infer<typeof operation>;
export type Response = z.infer<typeof response>;
export type Content = z.infer<typeof content>;
export type Schema = z.infer<typeof schema>;

export function readOpenApi(path: string): OpenApi {
  return document.parse(parse(readFileSync(path, 'utf8'), { merge: true }));
}

/** The name at the end of a reference: "#/components/schemas/Error" is `Error`. */
export function nameOf($ref: string): string {
  return $ref.slice($ref.lastIndexOf('/') + 1);
}
