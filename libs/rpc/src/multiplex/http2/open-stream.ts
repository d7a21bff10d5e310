import { connect, type NetConnectOpts, type Socket } from 'node:net';
import { clientWindowBytes } from '../../grpc-options.ts';
import type { BatchListener, BatchTransport } from '../batch-transport.ts';
import { openPath } from '../grpc-streams.ts';
import { endOfDataFrame, headersFrame, settingsFrame, windowUpdateFrame } from './frames.ts';
import { failureIn, refusalIn } from './grpc-status.ts';
import { GrpcStream, violation } from './grpc-stream.ts';
import type { Headers } from './header-blocks.ts';
import { largestListBytes } from './hpack/header-decoder.ts';
import { encodeHeaders } from './hpack/header-encoder.ts';
import { clientPreface, defaultWindowBytes, ownMaxFrameBytes, setting, theStream } from './protocol.ts';

/**
 * Opens a stream of calls to an address, `ip:port` or `unix:/path`, on a connection of its own. The listener is told when
 * the stream breaks, also when it could not be opened.
 */
export function openStream<L extends BatchListener>(address: string, listen: (transport: BatchTransport) => L): L {
  const { options, authority } = endpointOf(address);
  const socket = connect(options);
  socket.write(openingOf(authority));
  return new ClientStream(socket).to(listen);
}

/** The client's end. */
class ClientStream extends GrpcStream {
  constructor(socket: Socket) {
    super(socket, limits);
  }

  to<L extends BatchListener>(listen: (transport: BatchTransport) => L): L {
    const listener = listen(this);
    this.tell(listener);
    return listener;
  }

  onHeaders({ streamId, fields, isLast }: Headers): void {
    if (streamId !== theStream) return this.onOtherStream();
    if (isLast) return this.#onLast(fields);
    if (this.hasBegun) throw violation('headers follow headers');
    if (fields.get(':status')?.startsWith('1')) return;
    const refusal = refusalIn(fields);
    if (refusal === undefined) this.begin();
    else this.breakOff(refusal);
  }

  onOtherStream(): never {
    throw violation('the server speaks of a stream that was never opened');
  }

  protected lastFrame(): Buffer {
    return endOfDataFrame(theStream);
  }

  #onLast(fields: Headers['fields']): void {
    const failure = failureIn(fields);
    if (failure !== undefined) return this.breakOff(failure);
    if (!this.hasBegun) this.begin();
    this.onEnd();
  }
}

function endpointOf(address: string): { readonly options: NetConnectOpts; readonly authority: string } {
  if (address.startsWith('unix:')) return { options: { path: address.slice('unix:'.length) }, authority: 'localhost' };
  const { hostname, port } = new URL(`http://${address}`);
  const host = hostname.replace(/^\[|\]$/g, '');
  return { options: { host, port: Number(port || '80'), noDelay: true }, authority: address };
}

/** All that the client says before it has heard anything. */
function openingOf(authority: string): Buffer {
  const headers = encodeHeaders([
    { name: ':method', value: 'POST' },
    { name: ':scheme', value: 'http' },
    { name: ':path', value: openPath },
    { name: ':authority', value: authority },
    { name: 'te', value: 'trailers' },
    { name: 'content-type', value: 'application/grpc' },
    { name: 'user-agent', value: 'model-gateway' },
  ]);
  const settings = settingsFrame([
    [setting.enablePush, 0],
    [setting.initialWindowSize, limits.windowBytes],
    [setting.maxFrameSize, limits.maxFrameBytes],
    [setting.maxHeaderListSize, largestListBytes],
    [setting.onlyStreamOfCalls, 1],
  ]);
  const window = windowUpdateFrame(0, limits.windowBytes - defaultWindowBytes);
  return Buffer.concat([clientPreface, settings, window, headersFrame(theStream, headers, false)]);
}

const limits = { windowBytes: clientWindowBytes, maxFrameBytes: ownMaxFrameBytes };
