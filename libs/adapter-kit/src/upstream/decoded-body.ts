import { type Dispatcher, interceptors } from 'undici';

/**
 * Decodes an answer whose body is encoded with gzip, deflate, br or zstd, or several of them. The
 * handler receives it at its own pace, as if it had no encoding. An answer with another encoding is
 * passed on unchanged, with its header.
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

/**
 * Created for the first encoded answer: undici prints a warning when it is created, which most
 * processes need not show.
 */
let decompress: ReturnType<typeof interceptors.decompress> | undefined;
