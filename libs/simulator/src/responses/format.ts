import type { Answer, ProviderFormat } from '../provider-format.ts';
import type { ResponsesBackend } from './check-request.ts';
import { responsesErrorBody, responsesErrorEvent } from './errors.ts';
import { responsesEvents } from './events.ts';
import { readResponsesRequest } from './request.ts';
import { failedEvent, finalResponse } from './response-object.ts';

/** The Responses format. @see https://platform.openai.com/docs/api-reference/responses */
export function responsesFormat(backend: ResponsesBackend): ProviderFormat {
  return {
    name: 'responses',
    readConversation: (request) => readResponsesRequest(request, backend),
    events: (answer) => responsesEvents(backend === 'subscription' ? withEmptyFinalOutput(answer) : answer),
    body: finalResponse,
    errorBody: responsesErrorBody,
    errorEvent: responsesErrorEvent,
    failedEvent,
    headers: (requestId) => ({
      'x-request-id': requestId,
      'openai-version': '2020-10-01',
      'openai-processing-ms': '1',
    }),
  };
}

function withEmptyFinalOutput({ faults, ...answer }: Answer): Answer {
  return { ...answer, faults: { ...faults, kinds: faults.kinds.union(new Set(['empty_output'] as const)) } };
}
