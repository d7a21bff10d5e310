import { constants, setPriority } from 'node:os';
import { platform } from 'node:process';
import { GatewayError } from '@gateway/errors';
import { BufferList } from '@gateway/json';
import { move, transferableSymbol, valueSymbol } from 'piscina';
import { estimateInputTokens } from '../attempt/estimate-tokens.ts';
import type { TranslateChat, TranslationReply, TranslationTask } from './translation.ts';

/**
 * What the module of a translation worker exports as `translate`: it makes one request into the provider's. A fault of the
 * translation is thrown as no more than its name: its text may be the client's.
 */
export function translationWorker(translate: TranslateChat): (task: TranslationTask) => object {
  yieldToEventLoops();
  return (task) => {
    const reply = answer(translate, task);
    const transferred = 'body' in reply ? [reply.body.buffer] : [];
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
    return { body: new TextEncoder().encode(text), answer: plan, estimatedTokens };
  } catch (thrown) {
    if (thrown instanceof GatewayError) return { refusedFor: thrown.code, message: thrown.message };
    throw new Error(thrown instanceof Error ? thrown.name : typeof thrown);
  }
}
