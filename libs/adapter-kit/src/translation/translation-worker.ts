import { constants, setPriority } from 'node:os';
import { platform } from 'node:process';
import { GatewayError } from '@gateway/errors';
import { BufferList } from '@gateway/json';
import { move, transferableSymbol, valueSymbol } from 'piscina';
import { estimateInputTokens } from '../attempt/estimate-tokens.ts';
import type { TranslateChat, TranslationReply, TranslationTask } from './translation.ts';

/**
 * Creates the function that a translation worker's module exports as `translate`: it converts one
 * request to the provider's format. A fault of the translation is thrown with its name only,
 * because its message may contain the client's text.
 */
export function translationWorker(translate: TranslateChat): (task: TranslationTask) => Promise<object> {
  yieldToEventLoops();
  return async (task) => {
    const reply = await answer(translate, task);
    const transferred = 'body' in reply ? [reply.body.buffer] : [];
    return move({ [transferableSymbol]: transferred, [valueSymbol]: reply });
  };
}

/**
 * With fewer cores than threads, work that many requests wait for has precedence over one large
 * request.
 */
function yieldToEventLoops(): void {
  // On other systems the priority applies to the whole process.
  if (platform === 'linux') setPriority(constants.priority.PRIORITY_LOW);
}

async function answer(translate: TranslateChat, { body, context }: TranslationTask): Promise<TranslationReply> {
  try {
    const { body: text, answer: plan } = translate(body, context);
    const estimatedTokens = await estimateInputTokens(new BufferList([body]));
    return { body: new TextEncoder().encode(text), answer: plan, estimatedTokens };
  } catch (thrown) {
    if (thrown instanceof GatewayError) return { refusedFor: thrown.code, message: thrown.message };
    throw new Error(thrown instanceof Error ? thrown.name : typeof thrown);
  }
}
