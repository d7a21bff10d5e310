import { assistantTurnCases } from './assistant-turns.ts';
import { cacheKeyCases } from './cache-keys.ts';
import { characterCases } from './characters.ts';
import { clientCases } from './clients.ts';
import { effortCases } from './efforts.ts';
import { ignoredParameterCases } from './ignored-parameters.ts';
import { imageCases } from './images.ts';
import { malformedMessageCases } from './malformed-messages.ts';
import type { ResponsesRequestCase } from './provider-members.ts';
import { responseFormatCases } from './response-formats.ts';
import { roleCases } from './roles.ts';
import { toolChoiceCases } from './tool-choices.ts';
import { toolIdCases } from './tool-ids.ts';
import { toolRoundCases } from './tool-rounds.ts';
import { toolCases } from './tools.ts';
import { userTextCases } from './user-texts.ts';

export type { ProviderMembers } from './provider-members.ts';

/** Every known shape of a chat request, by its part that is tried. */
export const requestCases: readonly ResponsesRequestCase[] = [
  ...roleCases,
  ...userTextCases,
  ...imageCases,
  ...assistantTurnCases,
  ...toolRoundCases,
  ...toolIdCases,
  ...toolCases,
  ...toolChoiceCases,
  ...responseFormatCases,
  ...effortCases,
  ...ignoredParameterCases,
  ...cacheKeyCases,
  ...characterCases,
  ...clientCases,
  ...malformedMessageCases,
];
