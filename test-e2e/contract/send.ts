import { roomMs } from '@gateway/testkit/room';
import type { Topology } from '../topologies/topology.ts';
import type { CaseRequest } from './contract-case.ts';

/** An answer as it came. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly mediaType: string;
  readonly text: string;
}

const deadlineMs = roomMs(30_000);

/** Sends a request and reads its answer to the end. */
export async function send({ baseUrl }: Topology, request: CaseRequest, leaving?: AbortSignal): Promise<RawAnswer> {
  const { method, path, headers, body } = request;
  const deadline = AbortSignal.timeout(deadlineMs);
  const response = await fetch(`${baseUrl}${path}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body }),
    signal: leaving === undefined ? deadline : AbortSignal.any([leaving, deadline]),
  });
  const mediaType = (response.headers.get('content-type') ?? '').split(';')[0] ?? '';
  return { status: response.status, headers: response.headers, mediaType, text: await response.text() };
}
