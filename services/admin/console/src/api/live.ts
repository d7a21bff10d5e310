import type { DescMessage, DescMethodServerStreaming, MessageInitShape, MessageShape } from '@bufbuild/protobuf';
import { useTransport } from '@connectrpc/connect-query';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useEffectEvent, useState, useSyncExternalStore } from 'react';
import { mayPass, type Problem, problemOf } from './problem.ts';
import { noticeEndOfSession } from './session.tsx';
import { openStream } from './stream.ts';

/** The state of a stream. */
export type Connection =
  | { readonly state: 'connecting' }
  | { readonly state: 'live' }
  | { readonly state: 'lost'; readonly retryAtMs: number; readonly problem: Problem }
  | { readonly state: 'refused'; readonly problem: Problem };

export interface LiveOptions {
  /** The connection counts as lost after this time without a message. 0: no limit. */
  readonly silentAfterSeconds?: number;
  /** Follows nothing meanwhile; the data stays. */
  readonly paused?: boolean;
}

export interface Live<T> {
  /**
   * The result of all messages so far. Undefined before the first one. Stays while the connection
   * is lost.
   */
  readonly data: T | undefined;
  readonly connection: Connection;
}

/**
 * Follows a stream, and reconnects automatically. `fold` combines a message with the data before
 * it. A hidden page follows no stream: browsers limit the connections to one address.
 */
export function useLive<I extends DescMessage, O extends DescMessage, T>(
  method: DescMethodServerStreaming<I, O>,
  input: MessageInitShape<I>,
  fold: (message: MessageShape<O>, before: T | undefined) => T,
  { silentAfterSeconds = 0, paused = false }: LiveOptions = {},
): Live<T> {
  const transport = useTransport();
  const queries = useQueryClient();
  const [data, setData] = useState<T>();
  const [connection, setConnection] = useState<Connection>({ state: 'connecting' });
  const question = JSON.stringify(input, (_key, value) => (typeof value === 'number' ? String(value) : value));
  const open = useEffectEvent((attempt: AbortController) => {
    const stream = openStream(transport, method, input, attempt.signal);
    return messagesOf(stream, silentAfterSeconds, attempt);
  });
  const onRefused = useEffectEvent((error: unknown) => noticeEndOfSession(queries, error));
  const onMessage = useEffectEvent((message: MessageShape<O>) => setData((before) => fold(message, before)));
  // biome-ignore lint/correctness/useExhaustiveDependencies: another question is another stream.
  useEffect(() => {
    if (paused) return;
    setData(undefined);
    return follow({ open, onMessage, onConnection: setConnection, onRefused });
  }, [transport, method, question, silentAfterSeconds, paused]);
  useEffect(() => (paused ? undefined : register(connection)), [connection, paused]);
  return { data, connection };
}

interface Following<T> {
  /** Yields the stream's messages, until it is aborted. */
  readonly open: (attempt: AbortController) => AsyncIterable<T>;
  readonly onMessage: (message: T) => void;
  readonly onConnection: (connection: Connection) => void;
  /** Called if a further attempt would fail too. */
  readonly onRefused: (error: unknown) => void;
}

/** Follows until the returned function is called. */
function follow<T>({ open, onMessage, onConnection, onRefused }: Following<T>): () => void {
  let attempt = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let failures = 0;

  const connect = async () => {
    clearTimeout(timer);
    attempt.abort();
    if (document.hidden) return;
    const own = new AbortController();
    attempt = own;
    try {
      for await (const message of open(own)) {
        failures = 0;
        onConnection({ state: 'live' });
        onMessage(message);
      }
      throw new TypeError('The stream has ended.');
    } catch (thrown) {
      if (own.signal.aborted && own.signal.reason !== silence) return;
      const problem = problemOf(thrown);
      if (!mayPass(thrown) && own.signal.reason !== silence) {
        onRefused(thrown);
        return onConnection({ state: 'refused', problem });
      }
      const delayMs = Math.min(30_000, 1000 * 2 ** failures) * (0.75 + Math.random() / 2);
      failures += 1;
      onConnection({ state: 'lost', retryAtMs: Date.now() + delayMs, problem });
      timer = setTimeout(connect, delayMs);
    }
  };
  const onVisibility = () => (document.hidden ? attempt.abort() : void connect());

  void connect();
  document.addEventListener('visibilitychange', onVisibility);
  window.addEventListener('online', connect);
  retries.add(connect);
  return () => {
    clearTimeout(timer);
    attempt.abort();
    document.removeEventListener('visibilitychange', onVisibility);
    window.removeEventListener('online', connect);
    retries.delete(connect);
  };
}

const silence = new Error('Nothing has come for too long.');

/** The messages of a stream, which ends when it is silent for too long. */
async function* messagesOf<T>(
  stream: Promise<{ readonly message: AsyncIterable<T> }>,
  silentAfterSeconds: number,
  attempt: AbortController,
): AsyncGenerator<T> {
  let watchdog: ReturnType<typeof setTimeout> | undefined;
  const watch = () => {
    clearTimeout(watchdog);
    if (silentAfterSeconds > 0) watchdog = setTimeout(() => attempt.abort(silence), silentAfterSeconds * 1000);
  };
  try {
    watch();
    const { message: messages } = await stream;
    for await (const message of messages) {
      watch();
      yield message;
    }
  } finally {
    clearTimeout(watchdog);
  }
}

const retries = new Set<() => void>();

/** Retries lost connections at once. */
export function reconnectNow(): void {
  for (const retry of retries) retry();
}

const followed = new Set<{ readonly connection: Connection }>();
const listeners = new Set<() => void>();

function register(connection: Connection): () => void {
  const entry = { connection };
  const notify = () => {
    for (const listener of listeners) listener();
  };
  followed.add(entry);
  notify();
  return () => {
    followed.delete(entry);
    notify();
  };
}

/** The worst state of all streams that the page follows. Undefined if it follows none. */
export function useConnection(): Connection | undefined {
  return useSyncExternalStore(onConnection, worstConnection);
}

function onConnection(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function worstConnection(): Connection | undefined {
  const all = [...followed].map(({ connection }) => connection);
  const ranked = (['lost', 'connecting', 'live'] as const).map((state) => all.find((each) => each.state === state));
  return ranked.find((each) => each !== undefined);
}
