import { type Environment, type EnvReader, readMaxStreamSeconds, readProxies, readSettings } from '@gateway/config';

/** The settings that every adapter has. */
export type AdapterConfig = Readonly<ReturnType<typeof adapterConfigFrom>>;

export function readAdapterConfig(env: Environment): AdapterConfig {
  return readSettings(env, adapterConfigFrom);
}

/** The same, for a caller that reads more settings and reports the problems of all. */
export function adapterConfigFrom(reader: EnvReader) {
  const seconds = (name: string, fallback: number) => reader.integer(name, fallback, { min: 1, max: 86_400 }) * 1_000;
  return {
    /** How long a connection to a provider may take, TLS included. */
    connectTimeoutMs: seconds('UPSTREAM_CONNECT_TIMEOUT_SECONDS', 10),
    /**
     * How long a provider may take from the request until its model produces something, reasoning included; and how long it may be silent
     * while its model reasons.
     */
    firstByteTimeoutMs: seconds('UPSTREAM_FIRST_BYTE_TIMEOUT_SECONDS', 600),
    /** How long a provider may be silent once its model has produced something. */
    idleTimeoutMs: seconds('UPSTREAM_IDLE_TIMEOUT_SECONDS', 180),
    /**
     * No exchange with a provider lasts longer, however slowly its answer is taken. The edge ends a stream that lasts so long as its
     * endpoint ends streams; this is for a caller that does not.
     */
    maxStreamMs: readMaxStreamSeconds(reader) * 1_000 + callerFirstMs,
    /**
     * How much of a stream may come before the event by which its model produces something. Four times the size of the request comes
     * on top, since providers repeat a request's instructions and tools in their first events.
     */
    maxPreambleBytes: reader.integer('UPSTREAM_PREAMBLE_MAX_KIB', 256, { min: 1, max: 65_536 }) * 1024,
    /**
     * The largest event of a stream: what a provider's tool has fetched comes in one, and the last one of a response repeats the whole.
     * An event is buffered until it has ended.
     */
    maxEventBytes: reader.integer('UPSTREAM_EVENT_MAX_MIB', 32, { min: 1, max: 256 }) * 1024 * 1024,
    /**
     * How much of an answer is buffered. A chat answer that is not streamed is put together from so much and given up beyond it; a
     * relayed message that comes whole is passed on as it comes beyond it.
     */
    maxAnswerBytes: reader.integer('ANSWER_BUFFER_MAX_MIB', 32, { min: 1, max: 256 }) * 1024 * 1024,
    /** HTTP/2 with providers that offer it. */
    http2: reader.boolean('UPSTREAM_HTTP2', false),
    proxies: readProxies(reader),
    /** Whether providers get the trace of a request, as `traceparent`. */
    sendsTraceparent: reader.boolean('UPSTREAM_TRACEPARENT', false),
    /** Threads for requests that are large to translate. 0: they are translated on the event loop. */
    translationWorkers: reader.integer('TRANSLATION_WORKERS', 2, { min: 0, max: 64 }),
    /** How large a body is translated in a thread. */
    translationWorkerMinBytes: reader.integer('TRANSLATION_WORKER_MIN_KIB', 256, { min: 1, max: 65_536 }) * 1024,
    /** Bodies that threads translate, or that wait for them, at a time. */
    translationMaxBytes: reader.integer('TRANSLATION_MEMORY_MAX_MIB', 256, { min: 1, max: 65_536 }) * 1024 * 1024,
  };
}

/** So that it is the caller who says why an answer ends, and not a race of two timers. */
const callerFirstMs = 5_000;
