/** The headers of every call with a body. Answers are never compressed: no encoding is offered. */
export const jsonHeaders = {
  'content-type': 'application/json',
  accept: 'text/event-stream',
  'user-agent': 'model-gateway',
} as const;
