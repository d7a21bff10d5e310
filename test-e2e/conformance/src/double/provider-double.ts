import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import express, { type NextFunction, type Request, type Response } from 'express';
import { answer } from './answer.ts';
import { chatFormat } from './formats/chat.ts';
import { countFormat, messagesFormat } from './formats/messages.ts';
import type { ProviderFormat } from './formats/provider-format.ts';
import { responsesFormat } from './formats/responses.ts';
import { type Listening, listenOnLoopback } from './listen-on-loopback.ts';
import { refusalOf } from './refusals.ts';
import type { Script } from './script.ts';
import { Scripted } from './scripted-requests.ts';

/**
 * A provider that answers as scripted, in chat completions, Messages and Responses, streamed or
 * not. It also has `/v1/messages/count_tokens` and `/v1/models`. A request without a script gets a
 * short answer with usage.
 */
export interface ProviderDouble extends Listening {
  /** Answers requests that contain the returned marker; put the marker into a message's text. */
  script(script: Script): Scripted;
}

/** The models of `/v1/models`. */
export const doubleModels = {
  openai: ['gpt-5.5', 'gpt-5.5-mini'],
  anthropic: ['claude-sonnet-5', 'claude-haiku-4-5'],
} as const;

/**
 * The double on the loopback interface. Disposing closes it, even with requests in progress.
 * @param port 0: any free one
 */
export async function startProviderDouble({ port = 0 }: { readonly port?: number } = {}): Promise<ProviderDouble> {
  const scripted = new Map<string, Scripted>();
  const listening = await listenOnLoopback(routes(scripted), port);
  return {
    ...listening,
    script(script) {
      const id = randomBytes(6).toString('hex');
      const requests = new Scripted(`[conformance ${id}]`, script, () => scripted.delete(id));
      scripted.set(id, requests);
      return requests;
    },
  };
}

/** Any prefix before the last words of the path: base addresses may or may not end with `/v1`. */
function routes(scripted: ReadonlyMap<string, Scripted>) {
  const app = express().disable('x-powered-by').disable('etag');
  const usedSockets = new WeakSet<Socket>();
  app.use(({ socket }: Request, { locals }: Response, next: NextFunction) => {
    locals.isOnReusedConnection = usedSockets.has(socket);
    usedSockets.add(socket);
    next();
  });
  app.use(express.json({ limit: '100mb', type: () => true }));
  const scriptOf = ({ body }: Request): Scripted | undefined => {
    const ids = [...JSON.stringify(body ?? {}).matchAll(/\[conformance ([0-9a-f]{12})\]/g)].map(([, id = '']) => id);
    return ids.map((id) => scripted.get(id)).find((found) => found !== undefined);
  };
  const generate = (format: ProviderFormat) => async (request: Request, response: Response) => {
    const requests = scriptOf(request);
    const { script = {}, fault } = requests?.receive(request, response) ?? {};
    await answer({ format, request, response, script, fault });
  };
  app.use((request: Request, response: Response, next: NextFunction) => {
    const refusal = refusalOf(request);
    if (refusal === undefined) next();
    else response.status(refusal.status).json(formatOf(request).errorBody(refusal.status, refusal.message));
  });
  app.post(/\/chat\/completions$/, generate(chatFormat));
  app.post(/\/responses$/, generate(responsesFormat));
  app.post(/\/messages$/, generate(messagesFormat));
  app.post(/\/messages\/count_tokens$/, generate(countFormat));
  app.get(/\/models$/, (request, response) => {
    const isAnthropic = request.get('x-api-key') !== undefined || request.get('anthropic-version') !== undefined;
    response.json(isAnthropic ? anthropicModels(doubleModels.anthropic) : openaiModels(doubleModels.openai));
  });
  app.use((request: Request, response: Response) => {
    response.status(404).json(chatFormat.errorBody(404, `The provider double does not know ${request.path}.`));
  });
  app.use((failure: Error, request: Request, response: Response, next: NextFunction) => {
    if (response.headersSent) next(failure);
    else response.status(400).json(formatOf(request).errorBody(400, failure.message));
  });
  return app;
}

/** The format of a request's errors. */
function formatOf({ path }: Request): ProviderFormat {
  return /\/messages(\/count_tokens)?$/.test(path) ? messagesFormat : chatFormat;
}

const createdAtSeconds = 1_767_225_600;

/** @see https://platform.openai.com/docs/api-reference/models/list */
function openaiModels(ids: readonly string[]) {
  const data = ids.map((id) => ({ id, object: 'model', created: createdAtSeconds, owned_by: 'system' }));
  return { object: 'list', data };
}

/** @see https://docs.claude.com/en/api/models-list */
function anthropicModels(ids: readonly string[]) {
  const created_at = new Date(createdAtSeconds * 1_000).toISOString();
  const data = ids.map((id) => ({ type: 'model', id, display_name: id, created_at }));
  return { data, has_more: false, first_id: ids[0] ?? null, last_id: ids.at(-1) ?? null };
}
