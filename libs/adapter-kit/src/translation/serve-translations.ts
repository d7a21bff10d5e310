import { type MessagePort, parentPort } from 'node:worker_threads';
import { GatewayError } from '@gateway/errors';
import { estimateInputTokens } from '../attempt/estimate-tokens.ts';
import type { TranslateChat, TranslationReply, TranslationTask } from './translation.ts';

/** What the module of a translation worker does: makes one request after another into the provider's. */
export function serveTranslations(translate: TranslateChat): void {
  if (parentPort === null) throw new Error('Translations are served in a worker.');
  const port: MessagePort = parentPort;
  port.on('message', (task: TranslationTask) => {
    const reply = answer(translate, task);
    port.postMessage(reply, reply.kind === 'translated' ? [reply.translated.body.buffer] : []);
  });
}

function answer(translate: TranslateChat, { body, context }: TranslationTask): TranslationReply {
  try {
    const { body: text, answer: plan } = translate(body, context);
    const estimatedTokens = estimateInputTokens(body);
    return { kind: 'translated', translated: { body: new TextEncoder().encode(text), answer: plan, estimatedTokens } };
  } catch (thrown) {
    if (thrown instanceof GatewayError) return { kind: 'refused', code: thrown.code, message: thrown.message };
    return { kind: 'failed', reason: thrown instanceof Error ? thrown.name : typeof thrown };
  }
}
