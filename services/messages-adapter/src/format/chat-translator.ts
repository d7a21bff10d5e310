import { chatTranslatorOf } from '@gateway/adapter-kit';
import { type ChatRequest, type ResponseFormat, readDefaultEffort } from '@gateway/chat';
import type { Lease } from '@gateway/proto/pool/v1/account_pb.js';
import { convertMessages } from './convert-messages.ts';
import { toStructuredSchema } from './convert-schemas.ts';
import { convertTools } from './convert-tools.ts';
import { EventReader } from './event-reader.ts';
import { type ModelFamily, mapReasoningEffort, maxTokensFor, modelFamilyOf, withTraits } from './model-families.ts';
import type { MessagesRequest, OutputConfig } from './provider-request.ts';

/**
 * Translates chat completions for a Messages provider. The provider always streams; a client that
 * does not gets the assembled answer.
 */
export const chatTranslator = chatTranslatorOf({
  path: '/messages',
  toProviderRequest: (request, { lease }) => toProviderRequest(request, lease),
  readAnswer: (answer, options) => new EventReader(answer, options),
});

/**
 * The Messages request for a chat request. Sampling parameters are never sent, because current
 * models refuse them. Throws `invalid_request` or `unsupported_content`.
 * @see spec "POST /v1/chat/completions"
 */
export function toProviderRequest(
  request: ChatRequest,
  lease: Pick<Lease, 'model' | 'defaultEffort' | 'traits'>,
): MessagesRequest {
  const family = withTraits(modelFamilyOf(lease.model), lease.traits);
  const maxTokens = maxTokensFor(family, request.maxOutputTokens);
  const conversation = convertMessages(request.messages);
  const tools = convertTools(request, family, conversation.calledTools);
  const endsWithAnswer = conversation.messages.at(-1)?.role === 'assistant';
  const responseFormat = convertResponseFormat(request.responseFormat, family, endsWithAnswer);
  const reasoning = mapReasoningEffort({
    effort: request.reasoningEffort ?? readDefaultEffort(lease.defaultEffort),
    family,
    maxTokens,
    endsWithUserInput: conversation.endsWithUserInput,
    toolForced: tools.toolChoice?.type === 'any' || tools.toolChoice?.type === 'tool',
  });
  return {
    model: lease.model,
    max_tokens: maxTokens,
    stream: true,
    system: joinTexts([...conversation.system, tools.instruction, responseFormat.instruction]),
    messages: conversation.messages,
    stop_sequences: stopSequences(request.stop),
    tools: tools.tools,
    tool_choice: tools.toolChoice,
    thinking: reasoning.thinking,
    output_config: outputConfig(reasoning.effort, responseFormat.format),
  };
}

function joinTexts(texts: readonly (string | undefined)[]): string | undefined {
  const present = texts.filter((text) => text !== undefined);
  return present.length === 0 ? undefined : present.join('\n\n');
}

/** The provider refuses stop sequences that consist of whitespace only. */
function stopSequences(stop: readonly string[]): string[] | undefined {
  const usable = stop.filter((sequence) => /\S/.test(sequence));
  return usable.length === 0 ? undefined : usable;
}

function outputConfig(effort: OutputConfig['effort'], format: OutputConfig['format']): OutputConfig | undefined {
  if (effort === undefined && format === undefined) return undefined;
  return { ...(effort !== undefined && { effort }), ...(format !== undefined && { format }) };
}

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
