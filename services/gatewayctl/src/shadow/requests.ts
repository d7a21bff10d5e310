import { ConfigError } from '@gateway/config';
import { z } from 'zod';

/** A request that is sent to both gateways. */
export interface ShadowRequest {
  readonly name: string;
  readonly method: 'GET' | 'POST';
  /** As in `/v1/chat/completions`. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined: none. */
  readonly body?: unknown;
}

/**
 * Reads a recording: one JSON object in each line. Empty lines are skipped.
 * @throws ConfigError with the file and the line of every problem. It repeats no value.
 */
export function readRequests(text: string, file: string): readonly ShadowRequest[] {
  const problems: string[] = [];
  const requests = text.split(/\r?\n/).flatMap((line, index) => {
    if (line.trim() === '') return [];
    const place = `${file}:${index + 1}`;
    const parsed = requestSchema.safeParse(jsonOf(line));
    if (parsed.success) return [{ ...parsed.data, name: parsed.data.name ?? `line ${index + 1}` }];
    problems.push(...parsed.error.issues.map(({ path, message }) => `${place}: ${[...path, message].join(': ')}`));
    return [];
  });
  if (problems.length > 0) throw new ConfigError(problems);
  if (requests.length === 0) throw new ConfigError([`${file}: it has no requests.`]);
  return requests;
}

/** The recording of requests, as `readRequests` reads it. */
export function requestLines(requests: readonly ShadowRequest[]): string {
  return requests.map((request) => `${JSON.stringify(request)}\n`).join('');
}

/** The request with another model, if a name is given for its own. */
export function withModel(request: ShadowRequest, names: ReadonlyMap<string, string>): ShadowRequest {
  const parsed = withModelSchema.safeParse(request.body);
  const model = parsed.success ? names.get(parsed.data.model) : undefined;
  return model === undefined ? request : { ...request, body: { ...parsed.data, model } };
}

const withModelSchema = z.looseObject({ model: z.string() });

/** Headers that are secret, or that belong to a connection. */
const refusedHeaders: ReadonlySet<string> = new Set([
  ...['authorization', 'proxy-authorization', 'x-api-key', 'api-key', 'cookie', 'x-litellm-api-key'],
  ...['host', 'connection', 'content-length', 'transfer-encoding', 'accept-encoding', 'expect', 'upgrade', 'te'],
]);

const requestSchema = z
  .strictObject(
    {
      name: z.string().min(1).max(100).optional(),
      method: z.enum(['GET', 'POST'], 'must be GET or POST').optional(),
      path: z.string().regex(/^\/(?!\/)[\x21-\x7e]*$/, 'must be a path such as /v1/messages'),
      headers: z
        .record(z.string(), z.string().regex(/^[\x20-\x7e]*$/, 'must be visible ASCII'))
        .default({})
        .superRefine((headers, context) => {
          for (const name of Object.keys(headers)) {
            if (isRecordable(name)) continue;
            context.addIssue({ code: 'custom', path: [name], message: 'must not be in a recording' });
          }
        }),
      body: z.unknown().optional(),
    },
    {
      error: ({ code }) =>
        code === 'invalid_type'
          ? 'must be a JSON object with path, and with name, method, headers and body'
          : undefined,
    },
  )
  .transform(({ method, ...given }) => ({ ...given, method: method ?? (given.body === undefined ? 'GET' : 'POST') }));

function isRecordable(header: string): boolean {
  return /^[A-Za-z0-9-]+$/.test(header) && !refusedHeaders.has(header.toLowerCase());
}

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
