import type { Part, Script, Usage } from '../script.ts';

/** How a provider writes the answer of a script. */
export interface ProviderFormat {
  readonly headers: (requestId: string) => Readonly<Record<string, string>>;
  whole(reply: Reply): object;
  events(reply: Reply): Iterable<Frame>;
  errorBody(status: number, message: string): object;
  /** @param position the number of events before it. */
  errorEvent(message: string, position: number): Frame;
}

/** One event of a stream. */
export interface Frame {
  readonly event?: string | undefined;
  readonly data: string;
}

/** A complete answer in a format. */
export interface Reply {
  /** Without the prefix that a format adds. */
  readonly id: string;
  readonly model: string;
  readonly createdAtSeconds: number;
  readonly parts: readonly Part[];
  readonly finish: NonNullable<Script['finish']>;
  readonly usage: Required<Usage>;
  /** The request, since some answers repeat its members. */
  readonly request: Readonly<Record<string, unknown>>;
}

/** The pieces in which a part is streamed. */
export function piecesOf(part: Part): readonly string[] {
  if (part.kind === 'tool-call') return part.arguments.match(/.{1,5}/gsu) ?? [];
  const given = part.kind === 'text' ? part.pieces : undefined;
  return given ?? part.text.match(/(?<!\s)\s*\S+(?:\s+$)?/gu) ?? [part.text];
}

export function textOf(parts: readonly Part[]): string {
  return parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');
}
