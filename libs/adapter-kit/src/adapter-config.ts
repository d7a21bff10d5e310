import { type Environment, EnvReader, type Proxies, readMaxStreamSeconds, readProxies } from '@gateway/config';

/** The settings that every adapter has. */
export interface AdapterConfig {
  /** UPSTREAM_CONNECT_TIMEOUT_SECONDS (10): how long a connection to a provider may take, TLS included. */
  readonly connectTimeoutMs: number;
  /** UPSTREAM_FIRST_BYTE_TIMEOUT_SECONDS (600): how long a provider may take from the request to the first content. */
  readonly firstByteTimeoutMs: number;
  /** UPSTREAM_IDLE_TIMEOUT_SECONDS (180): how long a provider may be silent once its answer has begun. */
  readonly idleTimeoutMs: number;
  /**
   * MAX_STREAM_SECONDS (3600) and a little more: no exchange with a provider lasts longer, however slowly its answer is taken. The
   * edge ends a stream that lasts so long as its endpoint ends streams; this is for a caller that does not.
   */
  readonly maxStreamMs: number;
  /**
   * UPSTREAM_PREAMBLE_MAX_KIB (256): how much of a stream may come before its first content. Four times the size of the
   * request comes on top, since providers repeat a request's instructions and tools in their first events.
   */
  readonly maxPreambleBytes: number;
  /**
   * ANSWER_BUFFER_MAX_MIB (32): how much of an answer is buffered. A chat answer that is not streamed is put together from
   * so much and given up beyond it; a relayed message that comes whole is passed on as it comes beyond it.
   */
  readonly maxAnswerBytes: number;
  /** UPSTREAM_HTTP2 (false): HTTP/2 with providers that offer it. */
  readonly http2: boolean;
  readonly proxies: Proxies;
  /** TRANSLATION_WORKERS (2): threads for requests that are large to translate. 0: they are translated on the event loop. */
  readonly translationWorkers: number;
  /** TRANSLATION_WORKER_MIN_KIB (256): how large a body is translated in a thread. */
  readonly translationWorkerMinBytes: number;
  /** TRANSLATION_MEMORY_MAX_MIB (256): bodies that threads translate, or that wait for them, at a time. */
  readonly translationMaxBytes: number;
}

export function readAdapterConfig(env: Environment): AdapterConfig {
  const reader = new EnvReader(env);
  const config = adapterConfigFrom(reader);
  reader.done();
  return config;
}

/** The same, for a caller that reads more settings and reports the problems of all. */
export function adapterConfigFrom(reader: EnvReader): AdapterConfig {
  const seconds = (name: string, fallback: number) => reader.integer(name, fallback, { min: 1, max: 86_400 }) * 1_000;
  return Object.freeze({
    connectTimeoutMs: seconds('UPSTREAM_CONNECT_TIMEOUT_SECONDS', 10),
    firstByteTimeoutMs: seconds('UPSTREAM_FIRST_BYTE_TIMEOUT_SECONDS', 600),
    idleTimeoutMs: seconds('UPSTREAM_IDLE_TIMEOUT_SECONDS', 180),
    maxStreamMs: readMaxStreamSeconds(reader) * 1_000 + callerFirstMs,
    maxPreambleBytes: reader.integer('UPSTREAM_PREAMBLE_MAX_KIB', 256, { min: 1, max: 65_536 }) * 1024,
    maxAnswerBytes: reader.integer('ANSWER_BUFFER_MAX_MIB', 32, { min: 1, max: 256 }) * 1024 * 1024,
    http2: reader.boolean('UPSTREAM_HTTP2', false),
    proxies: readProxies(reader),
    translationWorkers: reader.integer('TRANSLATION_WORKERS', 2, { min: 0, max: 64 }),
    translationWorkerMinBytes: reader.integer('TRANSLATION_WORKER_MIN_KIB', 256, { min: 1, max: 65_536 }) * 1024,
    translationMaxBytes: reader.integer('TRANSLATION_MEMORY_MAX_MIB', 256, { min: 1, max: 65_536 }) * 1024 * 1024,
  });
}

/** So that it is the caller who says why an answer ends, and not a race of two timers. */
const callerFirstMs = 5_000;
