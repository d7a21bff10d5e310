export { EventSplitter, type EventSplitterOptions, SseOverflowError } from './event-splitter.ts';
export { readEvent, type SseEvent } from './read-event.ts';
export { RelayBuffer } from './relay-buffer.ts';
