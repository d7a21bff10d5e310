import { useTransport } from '@connectrpc/connect-query';
import { type PlaygroundEndpoint, PlaygroundService } from '@gateway/proto/admin/v1/playground_service_pb.js';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { problemOf } from '../../api/problem.ts';
import { noticeEndOfSession } from '../../api/session.tsx';
import { openStream } from '../../api/stream.ts';
import { AnswerReader, type ReadAnswer } from './read-answer.ts';
import { type Endpoint, endpoints } from './request-draft.ts';

/** A request of this page, from sending to its end. */
export interface Run {
  readonly state: 'waiting' | 'receiving' | 'ended' | 'stopped' | 'failed';
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly answer: ReadAnswer | undefined;
  /** The answer as it came. A long stream is cut. */
  readonly raw: string;
  readonly firstTokenMs: number | undefined;
  readonly tookMs: number | undefined;
  /** Why there is no answer of the public API. Empty: there is one. */
  readonly problem: string;
}

export interface Asked {
  readonly endpoint: Endpoint;
  readonly tokenText: string;
  readonly body: string;
}

/** Sends one request at a time, and follows its answer. */
export function useRelay() {
  const transport = useTransport();
  const queries = useQueryClient();
  const [run, setRun] = useState<Run>();
  const current = useRef<AbortController>(undefined);
  useEffect(() => () => current.current?.abort(), []);

  const send = async ({ endpoint, tokenText, body }: Asked) => {
    current.current?.abort();
    const own = new AbortController();
    current.current = own;
    const show = (changes: Partial<Run>) => {
      if (current.current === own) setRun((before = waiting) => ({ ...before, ...changes }));
    };
    const sentMs = performance.now();
    const sinceSent = () => performance.now() - sentMs;
    setRun(waiting);
    try {
      const input = { endpoint: endpoints[endpoint].id, tokenText, body };
      await followAnswer(relayedParts(transport, input, own.signal), endpoint, sinceSent, show);
      show({ state: 'ended', tookMs: sinceSent() });
    } catch (thrown) {
      if (own.signal.aborted) return show({ state: 'stopped', tookMs: sinceSent() });
      noticeEndOfSession(queries, thrown);
      show({ state: 'failed', tookMs: sinceSent(), problem: problemText(thrown) });
    }
  };
  return { run, send, stop: () => current.current?.abort() };
}

const waiting: Run = {
  ...{ state: 'waiting', status: 0, headers: new Map(), answer: undefined, raw: '' },
  ...{ firstTokenMs: undefined, tookMs: undefined, problem: '' },
};

type Parts = ReturnType<typeof relayedParts>;

async function followAnswer(
  parts: Parts,
  endpoint: Endpoint,
  sinceSent: () => number,
  show: (changes: Partial<Run>) => void,
): Promise<void> {
  let reader = new AnswerReader(endpoint, '');
  let firstTokenMs: number | undefined;
  for await (const part of parts) {
    if (part.case === 'head') {
      const headers = new Map(part.value.headers.map(({ name, value }) => [name, value]));
      reader = new AnswerReader(endpoint, headers.get('content-type') ?? '');
      show({ state: 'receiving', status: part.value.status, headers });
    } else if (part.case === 'bytes') {
      reader.push(part.value);
      if (reader.answer.hasBegun) firstTokenMs ??= sinceSent();
      show({ answer: reader.answer, raw: reader.raw, firstTokenMs });
    }
  }
  reader.end();
  show({ answer: reader.answer, raw: reader.raw });
}

interface RelayInput {
  readonly endpoint: PlaygroundEndpoint;
  readonly tokenText: string;
  readonly body: string;
}

/** Why a relayed request failed. The console does not repeat it by itself. */
export function problemText(thrown: unknown): string {
  const { kind, text, fields } = problemOf(thrown);
  if (kind === 'unreachable') return 'The gateway did not answer, or broke the answer off.';
  return Object.values(fields).join(' ') || text;
}

/** The head of an answer, then its bytes. */
export async function* relayedParts(
  transport: ReturnType<typeof useTransport>,
  input: RelayInput,
  signal: AbortSignal,
) {
  const { message } = await openStream(transport, PlaygroundService.method.relay, input, signal);
  for await (const { part } of message) yield part;
}
