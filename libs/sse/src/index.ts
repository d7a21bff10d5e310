export { EventSplitter, type EventSplitterOptions, readEvent, type SseEvent, SseOverflowError } from './events.ts';
export { RelayBuffer } from './relay-buffer.ts';
