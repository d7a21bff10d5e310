import type { DescMethod } from '@bufbuild/protobuf';
import { roomMs } from '@gateway/testkit/room';

export interface AdminAnswer {
  /** 200, or the status of the error. Streams that fail have 200. */
  readonly status: number;
  /** Connect's name of the error. Empty if there is none. */
  readonly code: string;
  /** The whole answer: headers and body, or the beginning of a stream. */
  readonly text: string;
  readonly body: string;
  readonly headers: Headers;
}

/**
 * Calls a method of the operators' API with a message in JSON, over raw HTTP. Reads only the first
 * message of a stream.
 */
export async function callAdmin(
  adminUrl: string,
  method: DescMethod,
  message: object,
  token: string,
): Promise<AdminAnswer> {
  const isStream = method.methodKind !== 'unary';
  const json = Buffer.from(JSON.stringify(message));
  const leave = new AbortController();
  const response = await fetch(`${adminUrl}/${method.parent.typeName}/${method.name}`, {
    method: 'POST',
    headers: {
      'content-type': isStream ? 'application/connect+json' : 'application/json',
      ...(token !== '' && { authorization: `Bearer ${token}` }),
    },
    body: isStream ? enveloped(json) : json,
    signal: AbortSignal.any([leave.signal, AbortSignal.timeout(roomMs(30_000))]),
  });
  const body = isStream ? await firstOf(response) : await response.text();
  leave.abort();
  const headers = [...response.headers].map(([name, value]) => `${name}: ${value}`).join('\n');
  return {
    ...{ status: response.status, headers: response.headers, body, text: `${headers}\n${body}` },
    code: /"code":"([a-z_]+)"/.exec(body)?.[1] ?? '',
  };
}

function enveloped(json: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(json.length, 1);
  return Buffer.concat([head, json]);
}

async function firstOf(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  const read = await reader?.read();
  return Buffer.from(read?.value ?? []).toString();
}
