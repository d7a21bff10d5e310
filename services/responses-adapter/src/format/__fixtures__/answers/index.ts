import { argumentsCases } from './arguments.ts';
import { backendCases } from './backends.ts';
import { brokenEventCases } from './broken-events.ts';
import { endingCases } from './endings.ts';
import { errorAfterContentCases } from './errors-after-content.ts';
import { errorBeforeContentCases } from './errors-before-content.ts';
import type { ResponsesAnswer } from './events.ts';
import { framingCases } from './framing.ts';
import { itemIdCases } from './item-ids.ts';
import { messageCases } from './messages.ts';
import { parallelCallCases } from './parallel-calls.ts';
import { reasoningCases } from './reasoning.ts';
import { refusalCases } from './refusals.ts';
import { silentEventCases } from './silent-events.ts';
import { textCases } from './text.ts';
import { toolCallCases } from './tool-calls.ts';
import { unicodeCases } from './unicode.ts';
import { unknownEventCases } from './unknown-events.ts';
import { usageCases } from './usage.ts';

/** Every known shape of an answer, by what it is made of. */
export const answerCases: readonly ResponsesAnswer[] = [
  ...textCases,
  ...messageCases,
  ...refusalCases,
  ...reasoningCases,
  ...toolCallCases,
  ...parallelCallCases,
  ...itemIdCases,
  ...argumentsCases,
  ...endingCases,
  ...usageCases,
  ...errorBeforeContentCases,
  ...errorAfterContentCases,
  ...brokenEventCases,
  ...silentEventCases,
  ...unknownEventCases,
  ...framingCases,
  ...backendCases,
  ...unicodeCases,
].map((answer) => ({ ...answer, events: numbered(answer.events) }));

/** Providers number the events of a stream. */
function numbered(events: ResponsesAnswer['events']): ResponsesAnswer['events'] {
  return events.map((event, index) => (typeof event === 'string' ? event : { ...event, sequence_number: index }));
}
