import type { ResponseFormat } from '@gateway/chat';
import { toStructuredSchema } from './convert-schemas.ts';
import type { ModelFamily } from './model-families.ts';
import type { OutputConfig } from './provider-request.ts';

type JsonSchemaFormat = Extract<ResponseFormat, { type: 'json_schema' }>;

interface ResponseFormatSettings {
  readonly format?: OutputConfig['format'];
  /** For what the format has no member for. */
  readonly instruction?: string;
}

/**
 * Converts a response format to `output_config.format` if model and schema allow it, otherwise to
 * an instruction. A started answer (`endsWithAnswer`) can't be constrained by a schema.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/structured-outputs
 */
export function convertResponseFormat(
  format: ResponseFormat,
  family: ModelFamily,
  endsWithAnswer: boolean,
): ResponseFormatSettings {
  if (format.type === 'text') return {};
  if (format.type === 'json_object' || format.schema === undefined) return { instruction: jsonObjectOnly };
  const structured = family.structuredOutput && !endsWithAnswer ? toStructuredSchema(format.schema) : undefined;
  if (structured === undefined) return { instruction: schemaInstruction(format) };
  return { format: { type: 'json_schema', schema: structured.schema } };
}

const jsonObjectOnly = 'Answer with one JSON object and nothing else: no text around it, no code fence.';

function schemaInstruction({ name, description, schema }: JsonSchemaFormat): string {
  const title = description === undefined ? name : `${name} (${description})`;
  return [
    'Answer with one JSON value and nothing else: no text around it, no code fence.',
    `It must be valid against this JSON Schema of ${title}:`,
    JSON.stringify(schema),
  ].join('\n');
}
