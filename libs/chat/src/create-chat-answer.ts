import type { ChatAnswer, ChatAnswerOptions } from './chat-answer.ts';
import { ChunkWriter } from './chunk-writer.ts';
import { CompletionAssembler } from './completion-assembler.ts';

/**
 * A streamed and an assembled answer with the same deltas have the same content.
 * @see spec "Chat completion object"
 */
export function createChatAnswer(options: ChatAnswerOptions): ChatAnswer {
  return options.stream ? new ChunkWriter(options) : new CompletionAssembler(options);
}
