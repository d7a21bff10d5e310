import { z } from 'zod';
import { presetNames } from './fault-presets.ts';

const milliseconds = z.number().min(0).optional();
/**
 * The number of events of a streamed answer before it; 0: before the first event, but after status
 * and headers.
 */
const afterEvents = z.int().min(0).optional();
const headers = z.record(z.string(), z.string());
const members = z.record(z.string(), z.unknown()).optional();
const text = z.string().optional();
const error = z.strictObject({ type: text, code: text, message: text }).optional();

const faultSchema = z.discriminatedUnion('kind', [
  /** The answer is correct but late. */
  z.strictObject({
    kind: z.literal('delay'),
    beforeHeadersMs: milliseconds,
    /** Between the headers and the first event of a stream. */
    beforeFirstEventMs: milliseconds,
    betweenEventsMs: milliseconds,
    /** A single pause after this many events of a stream. */
    pause: z.strictObject({ afterEvents: z.int().min(1), ms: z.number().min(0) }).optional(),
  }),
  /**
   * Another status, headers and body replace the answer. A body that is not a string is sent as
   * JSON; `encoding` is the content encoding.
   */
  z.strictObject({
    kind: z.literal('status'),
    status: z.int().min(200).max(599),
    headers: headers.optional(),
    body: z.unknown().optional(),
    encoding: z.enum(['gzip', 'deflate', 'br', 'zstd']).optional(),
  }),
  /**
   * A connection that has carried a request before is closed without a byte, like an idle one; the
   * first request on it is answered.
   */
  z.strictObject({ kind: z.literal('close_reused') }),
  /** The connection is reset; without `afterEvents`, before anything is sent. */
  z.strictObject({ kind: z.literal('reset'), afterEvents }),
  /**
   * Nothing more is sent, and the connection stays open; without `afterEvents`, not even the status
   * is sent.
   */
  z.strictObject({ kind: z.literal('stall'), afterEvents }),
  /**
   * The stream ends normally but too early; without `afterEvents`, just before its terminal event.
   */
  z.strictObject({ kind: z.literal('end'), afterEvents }),
  /** An `error` event ends the stream; by default it is the first event. */
  z.strictObject({ kind: z.literal('error_event'), afterEvents, error }),
  /**
   * The stream fails in the format's own way: `response.failed`, or an `error` event on Messages.
   * By default after two events.
   */
  z.strictObject({ kind: z.literal('failed'), afterEvents, error }),
  /** The JSON of one event is cut in half, and the stream continues. By default the first event. */
  z.strictObject({ kind: z.literal('broken_json'), afterEvents }),
  /**
   * A data line of this many bytes that does not end; without `bytes` it continues until the client
   * disconnects.
   */
  z.strictObject({ kind: z.literal('endless_line'), afterEvents, bytes: z.int().min(1).optional() }),
  /**
   * Unknown events, comments and keep-alives between the real events. A client must ignore them.
   */
  z.strictObject({ kind: z.literal('unknown_events') }),
  /**
   * The stream arrives in pieces of a few bytes, which split characters and lines. A client must
   * handle that.
   */
  z.strictObject({ kind: z.literal('split_utf8') }),
  /** The answer contains no usage. */
  z.strictObject({ kind: z.literal('usage_missing') }),
  /**
   * The answer reports other usage. These members replace its own, in the usage of a whole answer
   * and of the event with the totals; `atStart` in `message_start`. Bills do not change.
   */
  z.strictObject({ kind: z.literal('usage'), members, atStart: members }),
  /** The events of a Responses stream have no `sequence_number`. */
  z.strictObject({ kind: z.literal('unnumbered_events') }),
  /** The final event of a Responses stream has `output: []`, as subscription backends send it. */
  z.strictObject({ kind: z.literal('empty_output') }),
  /** Headers added to a successful answer, such as quota windows. */
  z.strictObject({ kind: z.literal('headers'), headers }),
]);

const presetSchema = z.strictObject({
  preset: z.enum(presetNames),
  /** For limits: seconds until the limit resets and the fault ends. Default 60. */
  resetAfterSeconds: z.number().min(0).optional(),
});

/** One fault, with whom, where and how often it affects. */
export const faultScriptSchema = z.strictObject({
  /** The account's credential, or its name if it has an OAuth grant; absent: all accounts. */
  account: z.string().optional(),
  /** Absent: all models. */
  model: z.string().optional(),
  /**
   * Absent: the two paths that generate. Listing models, counting tokens and refreshing them fail
   * only when named.
   */
  path: z.enum(['/v1/responses', '/v1/messages', '/v1/messages/count_tokens', '/v1/models', '/oauth/token']).optional(),
  /** How many requests are affected; absent: all, until cleared. */
  times: z.int().min(1).optional(),
  /** How long the fault stays active; absent: until cleared. */
  forSeconds: z.number().min(0).optional(),
  fault: z.union([presetSchema, faultSchema]),
});

export type Fault = z.infer<typeof faultSchema>;
export type PresetFault = z.infer<typeof presetSchema>;
export type FaultScript = z.infer<typeof faultScriptSchema>;
export type FaultKind = Fault['kind'];
export type FaultOf<Kind extends FaultKind> = Extract<Fault, { kind: Kind }>;
