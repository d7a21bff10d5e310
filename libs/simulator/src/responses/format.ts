import type { JsonObject } from '@gateway/json';
import { reasoningTokensOf, tokensOf } from '../answer/plan-answer.ts';
import type { Answer, ProviderFormat } from '../provider-format.ts';
import type { ResponsesBackend } from './check-request.ts';
import { responsesErrorBody, responsesErrorEvent } from './errors.ts';
import { responsesEvents } from './events.ts';
import { finishedItem, outputItemsOf } from './output-items.ts';
import { readResponsesRequest } from './request.ts';
import { failedEvent, finalStatus, responseObject } from './response-object.ts';

/** The Responses format. @see https://platform.openai.com/docs/api-reference/responses */
export function responsesFormat(backend: ResponsesBackend): ProviderFormat {
  return {
    name: 'responses',
    readConversation: (request) => readResponsesRequest(request, backend),
    events: (answer) => responsesEvents(backend === 'subscription' ? withEmptyFinalOutput(answer) : answer),
    body: completeResponse,
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

function withEmptyFinalOutput(answer: Answer): Answer {
  return { ...answer, shape: { ...answer.shape, finalOutput: 'empty' } };
}

function completeResponse(answer: Answer): JsonObject {
  const { parts } = answer.plan;
  return responseObject(answer, {
    status: finalStatus(answer),
    output: answer.shape.finalOutput === 'empty' ? [] : outputItemsOf(answer).map((item) => finishedItem(item, answer)),
    outputTokens: tokensOf(parts),
    reasoningTokens: reasoningTokensOf(parts),
  });
}
