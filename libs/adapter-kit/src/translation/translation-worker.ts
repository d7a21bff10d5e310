import { constants, setPriority } from 'node:os';
import { platform } from 'node:process';
import { GatewayError } from '@gateway/errors';
import { BufferList } from '@gateway/json';
import { move, transferableSymbol, valueSymbol } from 'piscina';
import { estimateInputTokens } from '../attempt/answer-frames.ts';
import type { TranslateChat, TranslationReply, TranslationTask } from './translation.ts';

/** What the module of a translation worker exports as `translate`: it makes one request into the provider's. */
export function translationWorker(translate: TranslateChat): (task: TranslationTask) => object {
  yieldToEventLoops();
  return (task) => {
    const reply = answer(translate, task);
    const transferred = reply.kind === 'translated' ? [reply.translated.body.buffer] : [];
    return move({ [transferableSymbol]: transferred, [valueSymbol]: reply });
  };
}

/** Where there are fewer cores than threads, what many requests wait for comes before what one large one waits for. */
function yieldToEventLoops(): void {
  // On other systems the priority is that of the whole process.
  if (platform === 'linux') setPriority(constants.priority.PRIORITY_LOW);
}

function answer(translate: TranslateChat, { body, context }: TranslationTask): TranslationReply {
  try {
    const { body: text, answer: plan } = translate(body, context);
    const estimatedTokens = estimateInputTokens(new BufferList([body]));
    return { kind: 'translated', translated: { body: new TextEncoder().encode(text), answer: plan, estimatedTokens } };
  } catch (thrown) {
    if (thrown instanceof GatewayError) return { kind: 'refused', code: thrown.code, message: thrown.message };
    return { kind: 'failed', reason: thrown instanceof Error ? thrown.name : typeof thrown };
  }
}
