import {
  aBoolean,
  aNonEmptyString,
  anObject,
  aString,
  type JsonObject,
  oneOf,
  optionalField,
  requiredField,
} from './json-fields.ts';
import type { ResponseFormat } from './request.ts';

/** The form that the answer's text is to have; plain text when the field is absent. */
export function readResponseFormat(request: JsonObject): ResponseFormat {
  const format = optionalField(request, 'response_format', '', anObject);
  if (format === undefined) return { type: 'text' };
  const type = requiredField(format, 'type', 'response_format', aFormatType);
  return type === 'json_schema' ? readJsonSchemaFormat(format) : { type };
}

const aFormatType = oneOf(['text', 'json_object', 'json_schema']);

function readJsonSchemaFormat(format: JsonObject): ResponseFormat {
  const path = 'response_format.json_schema';
  const definition = requiredField(format, 'json_schema', 'response_format', anObject);
  return {
    type: 'json_schema',
    name: requiredField(definition, 'name', path, aNonEmptyString),
    description: optionalField(definition, 'description', path, aString),
    schema: optionalField(definition, 'schema', path, anObject),
    strict: optionalField(definition, 'strict', path, aBoolean),
  };
}
