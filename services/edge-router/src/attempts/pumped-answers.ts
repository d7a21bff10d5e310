import { type Answers, canTell } from '@gateway/rpc';

/** Answers that are told, whoever gives them. */
export function toldAnswers<T>(answers: AsyncIterable<T>): Answers<T> {
  if (canTell(answers)) return answers;
  return {
    [Symbol.asyncIterator]: () => answers[Symbol.asyncIterator](),
    tellTo(listener) {
      const iterator = answers[Symbol.asyncIterator]();
      let isCancelled = false;
      let resumed: PromiseWithResolvers<void> | undefined;
      const pump = async () => {
        await undefined;
        try {
          while (!isCancelled) {
            if (resumed !== undefined) await resumed.promise;
            const { done, value } = await iterator.next();
            if (isCancelled) return;
            if (done) return listener.onEnd();
            listener.onAnswer(value);
          }
        } catch (thrown) {
          if (!isCancelled) listener.onFailure(thrown);
        }
      };
      void pump();
      return {
        cancel() {
          isCancelled = true;
          resumed?.resolve();
          void iterator.return?.(undefined);
        },
        pause() {
          resumed ??= Promise.withResolvers();
        },
        resume() {
          resumed?.resolve();
          resumed = undefined;
        },
      };
    },
  };
}
