import { type InputSegment, imageTokens } from '../answer/conversation.ts';
import { countTokens } from '../answer/tokens.ts';
import { isJsonObject, type JsonObject, toObjects } from '../json-value.ts';

/** The input of a Messages request in the order in which it is cached: tools, system, messages. */
export function messagesSegments({ tools, system, messages }: JsonObject): readonly InputSegment[] {
  return [
    ...toObjects(tools).map(toolSegment),
    ...segmentsOfContent(system),
    ...toObjects(messages).flatMap((message) => segmentsOfContent(message.content)),
  ];
}

function segmentsOfContent(content: unknown): readonly InputSegment[] {
  if (typeof content !== 'string') return toObjects(content).map(blockSegment);
  return [{ content, tokens: countTokens(content), cacheable: false }];
}

function toolSegment(tool: JsonObject): InputSegment {
  const content = JSON.stringify(withoutBreakpoint(tool));
  return { content, tokens: countTokens(content), cacheable: isBreakpoint(tool) };
}

function blockSegment(block: JsonObject): InputSegment {
  const content = block.type === 'text' ? String(block.text) : JSON.stringify(withoutBreakpoint(block));
  return { content, tokens: tokensOfBlock(block), cacheable: isBreakpoint(block) };
}

/** Text counts its text, a tool use its name and input, a result its content, an image a fixed number, the rest as JSON. */
function tokensOfBlock(block: JsonObject): number {
  if (block.type === 'text') return countTokens(String(block.text));
  if (block.type === 'image') return imageTokens;
  if (block.type === 'tool_use') return countTokens(`${block.name}${JSON.stringify(block.input)}`);
  if (block.type === 'tool_result') return tokensOfResult(block.content);
  return countTokens(JSON.stringify(withoutBreakpoint(block)));
}

function tokensOfResult(content: unknown): number {
  if (typeof content === 'string') return countTokens(content);
  return toObjects(content).reduce((sum, block) => sum + tokensOfBlock(block), 0);
}

function isBreakpoint(block: JsonObject): boolean {
  return isJsonObject(block.cache_control);
}

/** The marker moves from turn to turn; what it marks stays the same input. */
function withoutBreakpoint({ cache_control: _, ...block }: JsonObject): JsonObject {
  return block;
}
