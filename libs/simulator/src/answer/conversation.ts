import { asString, type JsonObject, objectsIn } from '@gateway/json';

/** What a request of either format asks for, in the simulator's own terms. */
export interface Conversation {
  readonly model: string;
  readonly stream: boolean;
  /** The text of the last user message; empty when the turn contains only tool results. */
  readonly userText: string;
  /** The number of images in the last user message. */
  readonly imageCount: number;
  /** The tool results after the assistant's last answer. */
  readonly toolResults: readonly { readonly name: string; readonly text: string }[];
  readonly tools: readonly DeclaredTool[];
  readonly toolChoice: { readonly kind: 'auto' | 'none' | 'any' } | { readonly kind: 'named'; readonly name: string };
  readonly parallelToolCalls: boolean;
  readonly answerFormat:
    | { readonly kind: 'text' | 'json_object' }
    | { readonly kind: 'json_schema'; readonly schema: JsonObject };
  /** Undefined: no limit. */
  readonly maxOutputTokens: number | undefined;
  readonly stopSequences: readonly string[];
  /** Whether reasoning is returned with its text, only as an empty item, or is switched off. */
  readonly reasoning: 'shown' | 'hidden' | 'off';
  readonly inputTokens: number;
}

export interface DeclaredTool {
  readonly name: string;
  readonly schema: JsonObject;
}

/** The tokens of an image, whatever its size. */
export const imageTokens = 85;

/** The text of a content, which is a string or a list of parts. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return objectsIn(content)
    .flatMap((part) => asString(part.text) ?? [])
    .join('\n');
}

/** The number of images of this type in a content. */
export function imagesIn(content: unknown, type: 'image' | 'input_image'): number {
  return objectsIn(content).filter((part) => part.type === type).length;
}
