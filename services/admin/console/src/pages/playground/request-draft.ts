import { PlaygroundEndpoint } from '@gateway/proto/admin/v1/playground_service_pb.js';

export type Endpoint = 'chat' | 'messages' | 'responses';

export const endpoints: Readonly<
  Record<Endpoint, { readonly label: string; readonly path: string; readonly id: PlaygroundEndpoint }>
> = {
  chat: { label: 'Chat completions', path: '/v1/chat/completions', id: PlaygroundEndpoint.CHAT_COMPLETIONS },
  messages: { label: 'Messages', path: '/v1/messages', id: PlaygroundEndpoint.MESSAGES },
  responses: { label: 'Responses', path: '/v1/responses', id: PlaygroundEndpoint.RESPONSES },
};

/** The typed fields of a request. */
export interface RequestDraft {
  readonly endpoint: Endpoint;
  /** Empty: the first model that the endpoint usually serves. */
  readonly model: string;
  readonly system: string;
  readonly prompt: string;
  /** Empty: the usual number. */
  readonly maxTokens: string;
  readonly stream: boolean;
  /** The whole body as JSON, which replaces the fields. Undefined: the fields are used. */
  readonly body: string | undefined;
}

export const emptyRequest: RequestDraft = {
  ...{ endpoint: 'chat', model: '', system: '', prompt: 'Say hello in five languages.', maxTokens: '' },
  ...{ stream: true, body: undefined },
};

/** A model that a token may use, as `/v1/models` lists it. */
export interface ListedModel {
  readonly id: string;
  readonly owner: string;
}

/**
 * A model that the endpoint probably serves. The list has classes first, then the models of the
 * Responses pool, then those of the Messages pool.
 */
export function usualModel(endpoint: Endpoint, models: readonly ListedModel[]): string {
  const direct = models.filter(({ owner }) => owner !== 'gateway');
  const ofLast = direct.filter(({ owner }) => owner === direct.at(-1)?.owner);
  const fitting = { chat: models, messages: ofLast, responses: direct }[endpoint];
  return (fitting[0] ?? models[0])?.id ?? '';
}

/** The JSON that is sent. */
export function bodyOf({ body, ...fields }: RequestDraft): string {
  return body ?? JSON.stringify(requestOf(fields));
}

/** The same to edit: each member in a line of its own. */
export function bodyToEdit(draft: RequestDraft): string {
  return JSON.stringify(requestOf(draft), undefined, 2);
}

function requestOf({ endpoint, model, system, prompt, maxTokens, stream }: Omit<RequestDraft, 'body'>): object {
  const most = maxTokens === '' ? undefined : Number(maxTokens);
  const ask = { role: 'user', content: prompt };
  switch (endpoint) {
    case 'chat':
      return {
        model,
        messages: system === '' ? [ask] : [{ role: 'system', content: system }, ask],
        max_completion_tokens: most,
        ...(stream && { stream, stream_options: { include_usage: true } }),
      };
    case 'messages':
      return {
        ...{ model, max_tokens: most ?? 1_024, system: system === '' ? undefined : system, messages: [ask] },
        ...(stream && { stream }),
      };
    case 'responses':
      return {
        ...{ model, instructions: system === '' ? undefined : system },
        input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: prompt }] }],
      };
  }
}

/** Whether the answer of a body is asked for as a stream. */
export function isStreamed(endpoint: Endpoint, body: string): boolean {
  return endpoint === 'responses' || /"stream"\s*:\s*true/.test(body);
}
