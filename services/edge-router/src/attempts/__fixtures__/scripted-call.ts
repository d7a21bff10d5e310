import { setImmediate as nextTurn } from 'node:timers/promises';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { type ExecuteResponse, ExecuteResponseSchema } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { RpcError } from '@gateway/rpc';

/** A frame, the end of the frames, a failure, or silence for the rest of the call. */
export type ScriptedFrame = MessageInitShape<typeof ExecuteResponseSchema> | 'end' | 'hang' | Error;

export interface ScriptedCallOptions {
  readonly together?: boolean;
}

/**
 * A call of an adapter with scripted frames: each in its own turn of the event loop, or all at
 * once.
 */
export class ScriptedCall {
  readonly #script: readonly ScriptedFrame[];
  readonly #areTogether: boolean;
  readonly #aborted = Promise.withResolvers<never>();
  readonly controller = new AbortController();
  /** How many frames were taken. */
  taken = 0;
  isAborted = false;
  hasEnded = false;

  constructor(script: readonly ScriptedFrame[], { together = false }: ScriptedCallOptions = {}) {
    this.#script = script;
    this.#areTogether = together;
    this.#aborted.promise.catch(() => undefined);
    this.controller.signal.addEventListener('abort', () => {
      this.isAborted = true;
      this.#aborted.reject(new RpcError('cancelled', 'The caller cancelled the call.'));
    });
  }

  get frames(): AsyncIterable<ExecuteResponse> {
    return this.#frames();
  }

  async *#frames(): AsyncGenerator<ExecuteResponse> {
    try {
      for (const frame of this.#script) {
        if (!this.#areTogether) await nextTurn();
        if (this.isAborted || frame === 'hang') await this.#aborted.promise;
        if (frame === 'end' || frame === 'hang') return;
        if (frame instanceof Error) throw frame;
        this.taken += 1;
        yield create(ExecuteResponseSchema, frame);
      }
      await this.#aborted.promise;
    } finally {
      this.hasEnded = true;
    }
  }
}
