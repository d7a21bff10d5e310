import { useTransport } from '@connectrpc/connect-query';
import { PlaygroundEndpoint } from '@gateway/proto/admin/v1/playground_service_pb.js';
import { useEffect, useState } from 'react';
import type { ListedModel } from './request-draft.ts';
import { problemText, relayedParts } from './use-relay.ts';

/** The models that a token may use. Undefined: they are not known yet, or can't be listed. */
export interface KnownModels {
  readonly models: readonly ListedModel[] | undefined;
  /** Why they can't be listed. Empty: they can, or were not asked for yet. */
  readonly problem: string;
}

/** Asks the gateway as a client does, once for each token. */
export function useModels(tokenText: string | undefined): KnownModels {
  const transport = useTransport();
  const [known, setKnown] = useState<KnownModels>(notYet);
  useEffect(() => {
    setKnown(notYet);
    if (tokenText === undefined) return;
    const asking = new AbortController();
    const input = { endpoint: PlaygroundEndpoint.MODELS, tokenText, body: '' };
    listed(relayedParts(transport, input, asking.signal)).then(setKnown, (thrown: unknown) => {
      if (!asking.signal.aborted) setKnown({ models: undefined, problem: problemText(thrown) });
    });
    return () => asking.abort();
  }, [transport, tokenText]);
  return known;
}

const notYet: KnownModels = { models: undefined, problem: '' };

async function listed(parts: ReturnType<typeof relayedParts>): Promise<KnownModels> {
  const decoder = new TextDecoder();
  let status = 0;
  let text = '';
  for await (const part of parts) {
    if (part.case === 'head') status = part.value.status;
    if (part.case === 'bytes') text += decoder.decode(part.value, { stream: true });
  }
  const models = modelsIn(text);
  if (status === 200 && models !== undefined) return { models, problem: '' };
  return { models: undefined, problem: `GET /v1/models answered ${status}: ${text.slice(0, 500)}` };
}

/** The models in the JSON of `/v1/models`. Undefined: it is something else. */
export function modelsIn(json: string): readonly ListedModel[] | undefined {
  try {
    const { data }: { readonly data?: unknown } = JSON.parse(json);
    if (!Array.isArray(data)) return undefined;
    return data.flatMap((model: unknown) => {
      if (typeof model !== 'object' || model === null || !('id' in model)) return [];
      return [{ id: String(model.id), owner: 'owned_by' in model ? String(model.owned_by) : '' }];
    });
  } catch {
    return undefined;
  }
}
