import type { Check } from '../check.ts';
import { answers } from './answers.ts';
import { chatRequests } from './chat-requests.ts';
import { chatStreams } from './chat-streams.ts';
import { countTokens } from './count-tokens.ts';
import { finishReasons } from './finish-reasons.ts';
import { httpBodies } from './http-bodies.ts';
import { httpHeaders } from './http-headers.ts';
import { httpRefusals } from './http-refusals.ts';
import { messagesRequests } from './messages-requests.ts';
import { messagesStreams } from './messages-streams.ts';
import { models } from './models.ts';
import { responsesRequests } from './responses-requests.ts';
import { responsesStreams } from './responses-streams.ts';
import { streamFailures } from './stream-failures.ts';
import { texts } from './texts.ts';
import { toTheProvider } from './to-the-provider.ts';
import { toolCalls } from './tool-calls.ts';
import { usage } from './usage.ts';

/** Every check of level `formats`, in the order in which reports have them. */
export const formatChecks: readonly Check[] = [
  httpRefusals,
  httpHeaders,
  httpBodies,
  answers,
  chatStreams,
  chatRequests,
  messagesStreams,
  messagesRequests,
  countTokens,
  responsesStreams,
  responsesRequests,
  texts,
  finishReasons,
  usage,
  toolCalls,
  toTheProvider,
  streamFailures,
  models,
].flat();
