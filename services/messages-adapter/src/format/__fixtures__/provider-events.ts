import type Anthropic from '@anthropic-ai/sdk';

type Beta = Anthropic.Beta.BetaRawMessageStreamEvent;

/** The events of the provider's current SDK. */
type ProviderStreamEvent = Beta | Anthropic.Beta.BetaErrorResponse;
export type ProviderBlock = Anthropic.Beta.BetaRawContentBlockStartEvent['content_block'];
export type ProviderDelta = Anthropic.Beta.BetaRawContentBlockDeltaEvent['delta'];
export type StopReason = Anthropic.Beta.BetaStopReason;
/** A string is sent as it is. */
export type Events = readonly (ProviderStreamEvent | string)[];

type StartUsage = Partial<Anthropic.Beta.BetaUsage>;
type DeltaUsage = Partial<Anthropic.Beta.BetaMessageDeltaUsage>;

export function start(usage: StartUsage = { input_tokens: 10, output_tokens: 1 }): ProviderStreamEvent {
  return {
    type: 'message_start',
    message: {
      id: 'msg_013Zva2CMHLNnXjNJJKqJ2EF',
      type: 'message',
      role: 'assistant',
      model: 'claude-opus-4-8',
      content: [],
      container: null,
      context_management: null,
      diagnostics: null,
      stop_details: null,
      stop_reason: null,
      stop_sequence: null,
      usage: {
        cache_creation: null,
        cache_creation_input_tokens: null,
        cache_read_input_tokens: null,
        fallback_credit: null,
        inference_geo: null,
        input_tokens: 0,
        iterations: null,
        output_tokens: 0,
        output_tokens_details: null,
        server_tool_use: null,
        service_tier: 'standard',
        speed: null,
        ...usage,
      },
    },
  };
}

export function end(stopReason: StopReason | null, usage?: DeltaUsage): readonly ProviderStreamEvent[] {
  return [messageDelta(stopReason, usage), stop];
}

export function messageDelta(
  stopReason: StopReason | null,
  usage: DeltaUsage = { output_tokens: 5 },
  details: Partial<Anthropic.Beta.BetaRawMessageDeltaEvent['delta']> = {},
): ProviderStreamEvent {
  return {
    type: 'message_delta',
    context_management: null,
    delta: { container: null, stop_details: null, stop_reason: stopReason, stop_sequence: null, ...details },
    usage: {
      cache_creation_input_tokens: null,
      cache_read_input_tokens: null,
      fallback_credit: null,
      input_tokens: null,
      iterations: null,
      output_tokens: 0,
      output_tokens_details: null,
      server_tool_use: null,
      ...usage,
    },
  };
}

export const stop: ProviderStreamEvent = { type: 'message_stop' };
export const ping = 'event: ping\ndata: {"type": "ping"}\n\n';

/** A text block: an empty start, its deltas, its stop. */
export function textBlock(index: number, ...deltas: readonly string[]): Events {
  return block(index, { type: 'text', text: '', citations: null }, ...deltas.map(textDelta));
}

export function thinkingBlock(index: number, ...deltas: readonly string[]): Events {
  const signature: ProviderDelta = { type: 'signature_delta', signature: 'EqQBCgIYAhIM1gbcDa9GJwZA2b3h' };
  return block(index, { type: 'thinking', thinking: '', signature: '' }, ...deltas.map(thinkingDelta), signature);
}

/** A block that starts, receives these deltas and stops. */
function block(index: number, content: ProviderBlock, ...deltas: readonly ProviderDelta[]): Events {
  return [blockStart(index, content), ...deltas.map((delta) => blockDelta(index, delta)), blockStop(index)];
}

export function blockStart(index: number, content: ProviderBlock): ProviderStreamEvent {
  return { type: 'content_block_start', index, content_block: content };
}

export function blockDelta(index: number, delta: ProviderDelta): ProviderStreamEvent {
  return { type: 'content_block_delta', index, delta };
}

export function blockStop(index: number): ProviderStreamEvent {
  return { type: 'content_block_stop', index };
}

export function toolUse(id: string, name: string, input: unknown = {}): ProviderBlock {
  return { type: 'tool_use', id, name, input };
}

export function textDelta(text: string): ProviderDelta {
  return { type: 'text_delta', text };
}

export function jsonDelta(json: string): ProviderDelta {
  return { type: 'input_json_delta', partial_json: json };
}

export function thinkingDelta(thinking: string): ProviderDelta {
  return { type: 'thinking_delta', thinking, estimated_tokens: null };
}

/** An event that the SDK's types do not cover. */
export function oddEvent(json: { readonly type: string } & Readonly<Record<string, unknown>>): string {
  return `event: ${json.type}\ndata: ${JSON.stringify(json)}\n\n`;
}

/** A stream as sent, for cases that split it. */
export function wire(...events: Events): string {
  return events.map((event) => (typeof event === 'string' ? event : oddEvent({ ...event }))).join('');
}
