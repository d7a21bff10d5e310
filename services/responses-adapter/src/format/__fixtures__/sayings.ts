import { asArray, asObject, asString } from '@gateway/json';
import type { ChatRequestBody, ClientMessage } from '@gateway/testkit/adapters';

/**
 * One statement in a conversation, with its speaker. The ids of calls and results are kept
 * separately.
 */
export interface Saying {
  readonly by: 'instructions' | 'developer' | 'user' | 'image' | 'assistant' | 'refusal' | 'call' | 'output';
  readonly what: string;
  readonly id?: string;
}

/**
 * The statements in a client's conversation, in order; `instructions` are the system texts at its
 * start.
 */
export function clientSayings({ messages }: ChatRequestBody): readonly Saying[] {
  const isSystem = ({ role }: ClientMessage) => role === 'system' || role === 'developer';
  const firstOther = messages.findIndex((message) => !isSystem(message));
  const opening = messages.slice(0, Math.max(firstOther, 0)).flatMap(sayingsOf);
  const instructions = opening.map(({ what }) => what).filter((what) => what !== '');
  return [
    ...(instructions.length === 0 ? [] : [{ by: 'instructions', what: instructions.join('\n\n') } as const]),
    ...messages.slice(Math.max(firstOther, 0)).flatMap(sayingsOf),
  ].map((saying) => ({ ...saying, what: saying.what.toWellFormed() }));
}

function sayingsOf(message: ClientMessage): readonly Saying[] {
  const { content } = message;
  const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : (content ?? []);
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  switch (message.role) {
    case 'system':
    case 'developer':
      return texts.map((what) => ({ by: 'developer', what }));
    case 'tool':
      return [{ by: 'output', what: texts.join('\n'), id: message.tool_call_id }];
    case 'user':
      return parts.map((part): Saying => {
        if (part.type !== 'image_url') return { by: 'user', what: part.type === 'text' ? part.text : part.refusal };
        return { by: 'image', what: `${part.image_url.detail ?? 'auto'} ${part.image_url.url}` };
      });
    case 'assistant': {
      const words = parts.map(
        (part): Saying =>
          part.type === 'refusal'
            ? { by: 'refusal', what: part.refusal }
            : { by: 'assistant', what: part.type === 'text' ? part.text : '' },
      );
      const calls = (message.tool_calls ?? []).map(
        ({ id, function: called }): Saying => ({ by: 'call', what: `${called.name} ${called.arguments || '{}'}`, id }),
      );
      const refusal: Saying = { by: 'refusal', what: message.refusal ?? '' };
      return [...[...words, refusal].filter(({ what }) => what !== ''), ...calls];
    }
  }
}

/** The statements in a provider's request, in order. */
export function providerSayings(request: Readonly<Record<string, unknown>>): readonly Saying[] {
  const instructions = asString(request.instructions);
  return [
    ...(instructions === undefined ? [] : [{ by: 'instructions', what: instructions } as const]),
    ...asArray(request.input).flatMap((item) => itemSayings(asObject(item) ?? {})),
  ];
}

function itemSayings(item: Readonly<Record<string, unknown>>): readonly Saying[] {
  const id = String(item.call_id);
  if (item.type === 'function_call') return [{ by: 'call', what: `${item.name} ${item.arguments}`, id }];
  if (item.type === 'function_call_output') return [{ by: 'output', what: String(item.output), id }];
  return asArray(item.content).map((value) => {
    const part = asObject(value) ?? {};
    if (part.type === 'input_image') return { by: 'image', what: `${part.detail} ${part.image_url}` };
    if (part.type === 'refusal') return { by: 'refusal', what: String(part.refusal) };
    const speaker = (['developer', 'user', 'assistant'] as const).find((role) => role === item.role);
    if (speaker === undefined) throw new Error(`There is no role ${String(item.role)}.`);
    return { by: speaker, what: String(part.text) };
  });
}
