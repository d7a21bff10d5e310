import { create } from '@bufbuild/protobuf';
import { BufferList } from '@gateway/json';
import { LeaseSchema } from '@gateway/proto/pool/v1/account_pb.js';
import { chatTranslator } from '../chat-translator.ts';

export interface TranslatedRequest {
  /** The client's body. */
  readonly request: object;
  readonly model: string;
  readonly defaultEffort?: string | undefined;
  readonly affinityKey?: string | undefined;
}

/** The provider's request, as JSON, for a client's chat request. Throws GatewayError. */
export function translateRequest({ request, model, defaultEffort = '', affinityKey = '' }: TranslatedRequest): string {
  const body = new BufferList([Buffer.from(JSON.stringify(request))]);
  const lease = create(LeaseSchema, { model, defaultEffort });
  const more = {
    requestId: 'request-1',
    members: [],
    forwardHeaders: {},
    affinityKey,
    nowMs: 0,
    maxAnswerBytes: 1_000_000,
    maxEventBytes: 1_000_000,
  };
  return String(chatTranslator.prepare({ body, lease, ...more }).body);
}
