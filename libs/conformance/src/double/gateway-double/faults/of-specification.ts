import type { PlantedFault } from '../planted-fault.ts';
import { answers, asks, fault, text } from './changes.ts';

export const faultsOfSpecification: readonly PlantedFault[] = [
  fault(
    'one id for all',
    'spec-chat-request-id',
    answers(() => ({ headers: { 'x-request-id': 'always' } })),
  ),
  fault('no name of who answers', 'spec-chat-names-who-answers', { streamHeaders: { 'x-gateway-model': '' } }),
  fault(
    'a field of the provider',
    'spec-chat-completion-fields',
    answers(({ body }) => ({ body: { ...body, system_fingerprint: 'fp' } })),
  ),
  fault(
    'a chunk with more',
    'spec-chat-chunk-fields',
    text(/"object":"chat.completion.chunk"/g, '"object":"chat.completion.chunk","obfuscation":"x"'),
  ),
  fault(
    'wrong methods as unknown paths',
    'spec-chat-wrong-method',
    answers(({ status }) => ({ status: status === 405 ? 404 : status })),
  ),
  fault('other codes', 'spec-responses-text-as-input', text(/"invalid_request"/g, '"bad_request"')),
  fault('bodies of any size', 'spec-messages-large-body', { skips: ['size'] }),
  fault('compressed Messages', 'spec-messages-unknown-encoding', { skips: ['encoding'] }),
  fault('tokens counted twice', 'spec-usage-counts-chat', { countsTwice: true }),
  fault('usage that takes a slot', 'spec-usage-takes-no-slot', { countsUsageRequests: true }),
  fault("the provider's words", 'spec-messages-provider-error', { passesOn: ['errors'] }),
  fault("the provider's words in a stream", 'spec-chat-stream-error', { passesOn: ['errors'] }),
  fault('models in another order', 'spec-models-order-and-fields', { listsModels: (models) => models.toReversed() }),
  fault(
    'answers that are stored',
    'spec-responses-request',
    asks(() => ({ store: true })),
  ),
  fault(
    'only fields that it knows',
    'spec-messages-request-is-unchanged',
    asks(() => ({ conformance: undefined })),
  ),
  fault(
    'headers that stand still',
    'spec-chat-limit-headers',
    answers(({ headers }) => ({ headers: { ...headers, 'x-ratelimit-remaining-requests': '7' } })),
  ),
  fault('refusals that do not say until when', 'spec-chat-limit-refusal', text(/"retryAt"/g, '"until"')),
];
