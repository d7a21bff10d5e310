import { type Environment, type EnvReader, readMaxStreamSeconds, readProxies, readSettings } from '@gateway/config';

/** The settings that every adapter has. */
export type AdapterConfig = Readonly<ReturnType<typeof adapterConfigFrom>>;

export function readAdapterConfig(env: Environment): AdapterConfig {
  return readSettings(env, adapterConfigFrom);
}

/** The same settings, for a caller that reads more and reports all problems together. */
export function adapterConfigFrom(reader: EnvReader) {
  const seconds = (name: string, fallback: number) => reader.integer(name, fallback, { min: 1, max: 86_400 }) * 1_000;
  return {
    /** How long a connection to a provider may take, including TLS. */
    connectTimeoutMs: seconds('UPSTREAM_CONNECT_TIMEOUT_SECONDS', 10),
    /**
     * How long a provider may take from the request until its model produces output, including
     * reasoning, and how long it may be silent while its model reasons.
     */
    firstByteTimeoutMs: seconds('UPSTREAM_FIRST_BYTE_TIMEOUT_SECONDS', 600),
    /** How long a provider may be silent once its model has produced output. */
    idleTimeoutMs: seconds('UPSTREAM_IDLE_TIMEOUT_SECONDS', 180),
    /**
     * The maximum duration of an exchange with a provider, however slowly its answer is read. The
     * edge ends such a stream first, in the style of its endpoint; this limit is for callers that
     * do not.
     */
    maxStreamMs: readMaxStreamSeconds(reader) * 1_000 + callerFirstMs,
    /**
     * How many bytes of a stream may precede the event by which its model produces output. Four
     * times the size of the request is added, because providers repeat a request's instructions and
     * tools in their first events.
     */
    maxPreambleBytes: reader.integer('UPSTREAM_PREAMBLE_MAX_KIB', 256, { min: 1, max: 65_536 }) * 1024,
    /**
     * The largest event of a stream: the content that a provider's tool fetched is one event, and
     * the last event of a response repeats everything. An event is buffered until it ends.
     */
    maxEventBytes: reader.integer('UPSTREAM_EVENT_MAX_MIB', 32, { min: 1, max: 256 }) * 1024 * 1024,
    /**
     * How many bytes of an answer are buffered. A chat answer that is not streamed is assembled up
     * to this size and abandoned beyond it. A relayed message that is not streamed is passed on as
     * it arrives once it exceeds this size.
     */
    maxAnswerBytes: reader.integer('ANSWER_BUFFER_MAX_MIB', 32, { min: 1, max: 256 }) * 1024 * 1024,
    /** Use HTTP/2 with providers that offer it. */
    http2: reader.boolean('UPSTREAM_HTTP2', false),
    proxies: readProxies(reader),
    /** Whether providers receive the trace of a request, as `traceparent`. */
    sendsTraceparent: reader.boolean('UPSTREAM_TRACEPARENT', false),
    /** Threads that translate large requests. 0: they are translated on the event loop. */
    translationWorkers: reader.integer('TRANSLATION_WORKERS', 2, { min: 0, max: 64 }),
    /** The minimum size of a body that a thread translates. */
    translationWorkerMinBytes: reader.integer('TRANSLATION_WORKER_MIN_KIB', 256, { min: 1, max: 65_536 }) * 1024,
    /** The total size of bodies that threads are translating or that wait for them. */
    translationMaxBytes: reader.integer('TRANSLATION_MEMORY_MAX_MIB', 256, { min: 1, max: 65_536 }) * 1024 * 1024,
  };
}

/** A margin, so that the caller ends an answer first and two timers do not race. */
const callerFirstMs = 5_000;
