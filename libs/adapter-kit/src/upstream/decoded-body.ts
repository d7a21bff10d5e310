import { type Dispatcher, interceptors } from 'undici';

/**
 * Decodes an answer whose body is encoded: gzip, deflate, br, zstd, several of them too. The handler takes it as if it
 * had come without an encoding, at its own pace. An answer with another encoding comes as it is, with its header.
 */
export function decodedFor(handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler {
  let decoding = handler;
  decompress ??= interceptors.decompress({ skipErrorResponses: false });
  const dispatch = decompress((_options, decoder) => {
    decoding = decoder;
    return true;
  });
  dispatch({ path: '/', method: 'GET' }, handler);
  return decoding;
}

/** Made for the first encoded answer: undici prints a warning with it, which most processes need not have in their output. */
let decompress: ReturnType<typeof interceptors.decompress> | undefined;
