import type { Frame, FrameReceiver } from './frame-reader.ts';
import { HeaderBlocks, type Headers } from './header-blocks.ts';
import { ConnectionError, errorCode, frameFlag, frameType } from './protocol.ts';
import { readSettings, type Settings } from './settings.ts';

/** What the peer says with its frames. */
export interface PeerEvents {
  onSettings(settings: Settings): void;
  onPing(payload: Buffer): void;
  onGoAway(code: number, words: string): void;
  onWindowUpdate(streamId: number, bytes: number): void;
  onReset(streamId: number, code: number): void;
  onHeaders(headers: Headers): void;
  /** A frame of DATA begins. `length` is all that it takes of the windows. */
  onDataBegin(streamId: number, length: number): void;
  onData(part: Buffer): void;
  onDataEnd(streamId: number, isLast: boolean): void;
}

/** Tells what frames mean, and ends with an error when a frame is not what it may be where it stands. */
export class FrameDispatch implements FrameReceiver {
  readonly #events: PeerEvents;
  readonly #headerBlocks = new HeaderBlocks();
  #isGreeted = false;

  constructor(events: PeerEvents) {
    this.#events = events;
  }

  onDataBegin(streamId: number, length: number): void {
    this.#admit(frameType.data, streamId);
    this.#events.onDataBegin(streamId, length);
  }

  onData(part: Buffer): void {
    this.#events.onData(part);
  }

  onDataEnd(streamId: number, isLast: boolean): void {
    this.#events.onDataEnd(streamId, isLast);
  }

  onFrame(frame: Frame): void {
    this.#admit(frame.type, frame.streamId);
    const { streamId, payload } = frame;
    switch (frame.type) {
      case frameType.headers:
      case frameType.continuation:
        return this.#onHeaders(frame);
      case frameType.settings:
        return this.#onSettings(frame);
      case frameType.ping:
        requireLength(payload, pingBytes);
        return isAck(frame) ? undefined : this.#events.onPing(payload);
      case frameType.goAway:
        return this.#onGoAway(payload);
      case frameType.windowUpdate:
        requireLength(payload, numberBytes);
        return this.#events.onWindowUpdate(streamId, payload.readUInt32BE(0) & 0x7fff_ffff);
      case frameType.resetStream:
        requireLength(payload, numberBytes);
        return this.#events.onReset(streamId, payload.readUInt32BE(0));
      case frameType.pushPromise:
        throw new ConnectionError(errorCode.protocolError, 'nothing may be pushed');
      default:
        // Priorities, and what HTTP/2 is extended by.
        return undefined;
    }
  }

  #admit(type: number, streamId: number): void {
    if (!this.#isGreeted && type !== frameType.settings) {
      throw new ConnectionError(errorCode.protocolError, 'the first frame is not one of settings');
    }
    this.#isGreeted = true;
    this.#headerBlocks.admit(type, streamId);
    const place = places[type] ?? 'anywhere';
    if (place === 'anywhere' || (streamId === 0) === (place === 'connection')) return;
    throw new ConnectionError(errorCode.protocolError, 'a frame stands where it may not');
  }

  #onHeaders(frame: Frame): void {
    const headers = this.#headerBlocks.onFrame(frame);
    if (headers !== undefined) this.#events.onHeaders(headers);
  }

  #onSettings(frame: Frame): void {
    if (isAck(frame)) requireLength(frame.payload, 0);
    else this.#events.onSettings(readSettings(frame.payload));
  }

  #onGoAway(payload: Buffer): void {
    if (payload.length < 2 * numberBytes) throw wrongLength();
    this.#events.onGoAway(payload.readUInt32BE(numberBytes), payload.toString('utf8', 2 * numberBytes));
  }
}

/** Where frames stand, by their type. */
const places: Readonly<Record<number, 'connection' | 'stream'>> = {
  [frameType.data]: 'stream',
  [frameType.headers]: 'stream',
  [frameType.priority]: 'stream',
  [frameType.resetStream]: 'stream',
  [frameType.settings]: 'connection',
  [frameType.pushPromise]: 'stream',
  [frameType.ping]: 'connection',
  [frameType.goAway]: 'connection',
  [frameType.continuation]: 'stream',
};

const numberBytes = 4;
const pingBytes = 8;

function isAck({ flags }: Frame): boolean {
  return (flags & frameFlag.ack) !== 0;
}

function requireLength(payload: Buffer, length: number): void {
  if (payload.length !== length) throw wrongLength();
}

function wrongLength(): ConnectionError {
  return new ConnectionError(errorCode.frameSizeError, 'a frame has not the size that it must have');
}
