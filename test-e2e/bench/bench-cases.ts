import type { LoadOrder, LoadShape } from './load/load-order.ts';
import { chatModelOf } from './systems/gateway-file.ts';
import { type BenchFormat, modelOf, type Pace } from './wire/bench-models.ts';

/**
 * What a case measures: cost per request, cost per event, latency at a fixed rate, the same latency
 * beside large bodies, cost and latency of a request that is alone, memory of open streams.
 */
export type CaseKind = 'request' | 'fast-stream' | 'paced-stream' | 'rate' | 'beside-large' | 'lone' | 'memory';

export interface BenchCase {
  readonly name: string;
  readonly kind: CaseKind;
  readonly endpoint: 'chat' | 'responses' | 'messages';
  readonly format: BenchFormat;
  readonly bodyBytes: number;
  readonly pace: Pace;
  readonly shape: LoadShape;
  /**
   * Large bodies of other clients at the same time: one after the other on each connection, with a
   * pause after each answer.
   */
  readonly beside?: { readonly bodyBytes: number; readonly connections: number; readonly pauseMs: number };
  /** Streams that other clients keep open at the same time. */
  readonly openStreams?: LoadOrder['openStreams'];
  /** Whether `--quick` includes it. */
  readonly isQuick: boolean;
}

interface Route {
  readonly name: string;
  readonly endpoint: BenchCase['endpoint'];
  readonly format: BenchFormat;
  readonly isQuick: boolean;
}

/** Translated to either format, and relayed. */
const routes: readonly Route[] = [
  { name: 'chat-to-responses', endpoint: 'chat', format: 'responses', isQuick: false },
  { name: 'chat-to-messages', endpoint: 'chat', format: 'messages', isQuick: true },
  { name: 'responses', endpoint: 'responses', format: 'responses', isQuick: false },
  { name: 'messages', endpoint: 'messages', format: 'messages', isQuick: true },
];

const kibibyte = 1_024;
const sizes = [
  { name: '1k', bytes: kibibyte, connections: 32, isQuick: true },
  { name: '50k', bytes: 50 * kibibyte, connections: 16, isQuick: false },
  { name: '1m', bytes: kibibyte * kibibyte, connections: 4, isQuick: false },
] as const;

export const ratePerSecond = 500;
/** A paced stream takes four seconds: at this rate, four times as many are open. */
const pacedStreamsPerSecond = 25;

/** One at a time: each is answered long before the next. */
const lonePerSecond = 10;
/** Enough requests to show a delay, few enough to cost nothing beside large bodies. */
const besideLargePerSecond = 100;
/**
 * Without the pause large bodies would use the whole core, and the case would measure its
 * scheduler.
 */
const pauseOfLargeMs = 1_000;
const mebibyte = kibibyte * kibibyte;
/** The largest bodies that the endpoints accept. */
const largeBodies = [
  { route: 'chat-to-messages', name: '16m', bodyBytes: 16 * mebibyte - kibibyte, connections: 4 },
  { route: 'messages', name: '16m', bodyBytes: 16 * mebibyte - kibibyte, connections: 4 },
  { route: 'responses', name: '64m', bodyBytes: 64 * mebibyte - kibibyte, connections: 1 },
] as const;

export const benchCases: readonly BenchCase[] = [
  ...sizes.flatMap((size) =>
    routes.map((route) => ({
      ...route,
      name: `${route.name}-${size.name}`,
      kind: 'request' as const,
      bodyBytes: size.bytes,
      pace: 'short' as const,
      shape: { kind: 'closed' as const, connections: size.connections },
      isQuick: route.isQuick && size.isQuick,
    })),
  ),
  ...routes.map((route) => ({
    ...route,
    name: `${route.name}-stream`,
    kind: 'fast-stream' as const,
    bodyBytes: kibibyte,
    pace: 'fast' as const,
    shape: { kind: 'closed' as const, connections: 4 },
  })),
  ...routes.map((route) => ({
    ...route,
    name: `${route.name}-paced`,
    kind: 'paced-stream' as const,
    bodyBytes: kibibyte,
    pace: 'paced' as const,
    shape: { kind: 'open' as const, perSecond: pacedStreamsPerSecond },
    isQuick: false,
  })),
  ...routes.map((route) => ({
    ...route,
    name: `${route.name}-rate`,
    kind: 'rate' as const,
    bodyBytes: kibibyte,
    pace: 'short' as const,
    shape: { kind: 'open' as const, perSecond: ratePerSecond },
    isQuick: route.name === 'chat-to-messages',
  })),
  ...largeBodies.flatMap(({ route: routeName, name, bodyBytes, connections }) =>
    routes
      .filter((route) => route.name === routeName)
      .map((route) => ({
        ...route,
        name: `${route.name}-beside-${name}`,
        kind: 'beside-large' as const,
        bodyBytes: kibibyte,
        pace: 'short' as const,
        shape: { kind: 'open' as const, perSecond: besideLargePerSecond },
        beside: { bodyBytes, connections, pauseMs: pauseOfLargeMs },
        isQuick: false,
      })),
  ),
  {
    name: 'messages-lone',
    kind: 'lone',
    endpoint: 'messages',
    format: 'messages',
    bodyBytes: kibibyte,
    pace: 'short',
    shape: { kind: 'open', perSecond: lonePerSecond },
    isQuick: false,
  },
  ...routes
    .filter(({ format }) => format === 'messages')
    .map((route) => ({
      ...route,
      name: `${route.name}-memory`,
      kind: 'memory' as const,
      bodyBytes: kibibyte,
      pace: 'slow' as const,
      shape: { kind: 'hold' as const, streams: 1_000 },
      isQuick: false,
    })),
];

/** The path of a case's requests. */
export function pathOf({ endpoint }: BenchCase): string {
  return endpoint === 'chat' ? '/v1/chat/completions' : `/v1/${endpoint}`;
}

/** The credential, in the header that clients of the endpoint use. */
export function credentialHeaders({ endpoint }: BenchCase, token: string): Readonly<Record<string, string>> {
  if (endpoint === 'messages') return { 'x-api-key': token, 'anthropic-version': '2023-06-01' };
  return { authorization: `Bearer ${token}` };
}

/**
 * Whether a stream is requested. Relayed Responses are always streamed, whatever the request says.
 */
export function isStreamed({ kind, endpoint }: BenchCase): boolean {
  return endpoint === 'responses' || kind === 'fast-stream' || kind === 'paced-stream' || kind === 'memory';
}

/** A body of the case's size: a conversation of prose with line breaks and quotes. */
export function bodyOf(benchCase: BenchCase): string {
  const stream = isStreamed(benchCase);
  const bare = JSON.stringify(bodyWith(benchCase, '', stream));
  // In JSON, line breaks and quotes take one byte more than in the text.
  const escaped = JSON.stringify(prose.repeat(2)).length - 2;
  const length = Math.floor(((benchCase.bodyBytes - bare.length) * prose.length * 2) / escaped);
  const text = prose.repeat(Math.ceil(length / prose.length)).slice(0, Math.max(1, length));
  return JSON.stringify(bodyWith(benchCase, text, stream));
}

const prose =
  'Summarise the report below.\nIt says: "costs fell by a tenth, and nobody knows why". Which page says so? ';

function bodyWith({ endpoint, format, pace }: BenchCase, text: string, stream: boolean): object {
  switch (endpoint) {
    case 'chat':
      return {
        model: chatModelOf(format, pace),
        stream,
        max_tokens: 1_000,
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: text },
        ],
      };
    case 'messages':
      return {
        model: modelOf(format, pace),
        stream,
        max_tokens: 1_000,
        messages: [{ role: 'user', content: text }],
      };
    default:
      return {
        model: modelOf(format, pace),
        stream,
        max_output_tokens: 1_000,
        input: [{ role: 'user', content: text }],
      };
  }
}
