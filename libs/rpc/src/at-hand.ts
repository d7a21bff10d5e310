/** Requests that are all there when their call begins. */
export interface AtHand<T> extends AsyncIterable<T> {
  readonly messages: readonly T[];
}

/** Messages as the requests of a streaming call. Unlike a generator's they can be taken without waiting. */
export function atHand<T>(messages: readonly T[]): AtHand<T> {
  return new MessagesAtHand(messages);
}

/** The requests of a call, when all of them are there already; undefined when they must be waited for. */
export function allAtHand<T>(requests: AsyncIterable<T>): readonly T[] | undefined {
  return requests instanceof MessagesAtHand ? requests.messages : undefined;
}

class MessagesAtHand<T> implements AtHand<T> {
  readonly messages: readonly T[];

  constructor(messages: readonly T[]) {
    this.messages = messages;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    yield* this.messages;
  }
}
