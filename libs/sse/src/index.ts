export * from './events.ts';
export * from './relay-buffer.ts';
