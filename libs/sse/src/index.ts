export type { EventSplitterOptions } from './event-splitter.ts';
export { EventSplitter } from './event-splitter.ts';
export { RelayBuffer } from './relay-buffer.ts';
export type { SseEvent } from './sse-event.ts';
export type { SseParserOptions } from './sse-parser.ts';
export { SseOverflowError, SseParser } from './sse-parser.ts';
export { sseComment, sseData, sseEvent } from './sse-writer.ts';
export { StreamPiece } from './stream-piece.ts';
