import type { Request } from 'express';
import { z } from 'zod';

/** A token that no provider knows, and a model that no provider has. Checks name them. */
export const wrongToken = 'conformance-wrong-token';
export const unknownModel = 'conformance-no-such-model';

/**
 * Texts that are no credentials: an empty one, a program's text for a missing value, and the
 * checks' wrong token.
 */
const noCredentials = ['', 'undefined', 'null', wrongToken];

export interface Refusal {
  readonly status: number;
  readonly message: string;
}

/** Requests that a provider refuses, so that a gateway may leave them to its provider. */
export function refusalOf(request: Request): Refusal | undefined {
  const credential = credentialOf(request);
  if (noCredentials.includes(credential)) return { status: 401, message: 'The credential is not known.' };
  if (request.method !== 'POST') return undefined;
  const schema = Object.entries(bodies).find(([path]) => request.path.endsWith(path))?.[1];
  const { success, error } = schema?.safeParse(request.body) ?? { success: true };
  if (!success) return { status: 400, message: z.prettifyError(error) };
  return request.body.model === unknownModel ? { status: 404, message: 'The model does not exist.' } : undefined;
}

export function credentialOf({ headers }: Pick<Request, 'headers'>): string {
  return [headers['x-api-key']].flat()[0] ?? headers.authorization?.replace(/^Bearer /i, '') ?? '';
}

const common = { model: z.string(), stream: z.boolean().nullish() };
const turns = z.array(z.looseObject({ role: z.string() })).min(1);

const bodies = {
  '/chat/completions': z.looseObject({ ...common, messages: turns }),
  '/responses': z.looseObject({ ...common, input: z.union([z.string(), z.array(z.looseObject({}))]).optional() }),
  '/messages': z.looseObject({ ...common, messages: turns, max_tokens: z.int() }),
  '/messages/count_tokens': z.looseObject({ ...common, messages: turns }),
} as const;
