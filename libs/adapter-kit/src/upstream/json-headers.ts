/** The headers of every call with a body. Answers must come as they are: bytes are relayed and read as they arrive. */
export const jsonHeaders = {
  'content-type': 'application/json',
  accept: 'text/event-stream',
  // Said aloud: who says nothing may be sent any encoding.
  'accept-encoding': 'identity',
  'user-agent': 'model-gateway',
} as const;
