import { brokenCases } from './broken.ts';
import { endingCases } from './endings.ts';
import { errorCases } from './errors.ts';
import type { MessagesAnswer } from './events.ts';
import { framingCases } from './framing.ts';
import { oddUsageCases } from './odd-usage.ts';
import { parallelCallCases } from './parallel-calls.ts';
import { providerToolCases } from './provider-tools.ts';
import { reasoningCases } from './reasoning.ts';
import { refusalCases } from './refusals.ts';
import { sparseCases } from './sparse.ts';
import { textCases } from './text.ts';
import { cutCallCases, toolArgumentCases } from './tool-arguments.ts';
import { toolCallCases } from './tool-calls.ts';
import { unicodeCases } from './unicode.ts';
import { unknownEventCases } from './unknown-events.ts';
import { usageCases } from './usage.ts';

/** Every known shape of an answer, by what it is made of. */
export const answerCases: readonly MessagesAnswer[] = [
  ...textCases,
  ...toolCallCases,
  ...parallelCallCases,
  ...toolArgumentCases,
  ...cutCallCases,
  ...reasoningCases,
  ...refusalCases,
  ...providerToolCases,
  ...endingCases,
  ...usageCases,
  ...oddUsageCases,
  ...errorCases,
  ...brokenCases,
  ...sparseCases,
  ...unknownEventCases,
  ...framingCases,
  ...unicodeCases,
];
