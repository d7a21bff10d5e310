import type { ReportedUsage } from '@gateway/chat';
import { text } from '@gateway/testkit/adapters';
import { type Events, type MessagesAnswer, textBlock, tokens } from './events.ts';

/** An answer of which only the reported usage matters. Usage undefined: none was reported. */
export function counted(
  what: string,
  beginning: Events,
  ending: Events,
  usage: Parameters<typeof tokens>[0] | undefined,
): MessagesAnswer {
  const expected: { readonly usage?: ReportedUsage } = usage === undefined ? {} : { usage: tokens(usage) };
  return {
    name: `usage: ${what}`,
    events: [...beginning, ...textBlock(0, 'Yes'), ...ending],
    deltas: [text('Yes')],
    ending: 'stop',
    ...expected,
  };
}
