import { imageCases } from './images.ts';
import { parameterCases } from './parameters.ts';
import type { RequestCases } from './provider-request.ts';
import { realClientCases } from './real-clients.ts';
import { reasoningCases } from './reasoning.ts';
import { refusedContentCases } from './refused-content.ts';
import { refusedToolTurnCases } from './refused-tool-turns.ts';
import { responseFormatCases } from './response-format.ts';
import { roleCases } from './roles.ts';
import { textCases } from './text-content.ts';
import { toolCallCases } from './tool-calls.ts';
import { toolChoiceCases } from './tool-choice.ts';
import { toolSchemaCases } from './tool-schemas.ts';
import { toolTurnCases } from './tool-turns.ts';
import { toolCases } from './tools.ts';

export type { ProviderMembers } from './provider-request.ts';

/** Every known shape of a chat request, by its part that is tried. */
export const requestCases: RequestCases = [
  ...roleCases,
  ...textCases,
  ...imageCases,
  ...refusedContentCases,
  ...toolTurnCases,
  ...refusedToolTurnCases,
  ...toolCallCases,
  ...toolCases,
  ...toolSchemaCases,
  ...toolChoiceCases,
  ...responseFormatCases,
  ...reasoningCases,
  ...parameterCases,
  ...realClientCases,
];
