import type { Socket } from 'node:net';
import { Heartbeat } from '../heartbeat.ts';
import { DataWriter, type FrameSink } from './data-writer.ts';
import { FrameDispatch, type PeerEvents } from './frame-dispatch.ts';
import { FrameReader } from './frame-reader.ts';
import { goAwayFrame, pingAckFrame, pingFrame, settingsAckFrame, windowUpdateFrame } from './frames.ts';
import type { Headers } from './header-blocks.ts';
import { InboundWindow } from './inbound-window.ts';
import { ConnectionError, type ErrorCode, errorCode, theStream } from './protocol.ts';
import type { Settings } from './settings.ts';

/** The one stream of a connection. Nothing is told once the connection was left or lost. */
export interface StreamEvents {
  onHeaders(headers: Headers): void;
  onData(part: Buffer): void;
  onEnd(): void;
  /** The other side gave the stream up. */
  onReset(code: number): void;
  /** The other side speaks of another stream. */
  onOtherStream(streamId: number): void;
  /** The connection is gone. */
  onLost(cause: Error): void;
}

/** What this side has told in its own settings. */
export interface ConnectionLimits {
  readonly windowBytes: number;
  readonly maxFrameBytes: number;
}

/** One end of a connection of HTTP/2 with one stream: all that is not the stream's own. */
export class Connection implements PeerEvents, FrameSink {
  readonly data: DataWriter;
  readonly #socket: Socket;
  readonly #stream: StreamEvents;
  readonly #reader: FrameReader;
  readonly #window: InboundWindow;
  readonly #streamWindow: InboundWindow;
  readonly #heartbeat: Heartbeat;
  /** Whether the data that comes now is the stream's. */
  #isStreamData = false;
  #isOver = false;
  #reason = 'The other side closed the connection.';

  constructor(socket: Socket, { windowBytes, maxFrameBytes }: ConnectionLimits, stream: StreamEvents) {
    this.#socket = socket;
    this.#stream = stream;
    this.data = new DataWriter(this);
    this.#reader = new FrameReader(new FrameDispatch(this), { maxFrameBytes, maxControlBytes });
    this.#window = new InboundWindow(windowBytes, (bytes) => this.write(windowUpdateFrame(0, bytes)));
    this.#streamWindow = new InboundWindow(windowBytes, (bytes) => this.write(windowUpdateFrame(theStream, bytes)));
    this.#heartbeat = new Heartbeat({
      intervalMs: silenceMs,
      ping: () => this.write(pingFrame),
      onSilence: () => this.#onLost(new Error('The other side does not answer any more.')),
    });
    socket.on('data', (bytes: Buffer) => this.read(bytes));
    socket.on('error', (cause) => this.#onLost(cause));
    socket.on('close', () => this.#onLost(new Error(this.#reason)));
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Takes what came over the socket. */
  read(bytes: Buffer): void {
    if (this.#isOver) return;
    this.#heartbeat.onHeard();
    try {
      this.#reader.read(bytes);
    } catch (thrown) {
      this.fail(thrown);
    }
  }

  /** Sends frames as they are. Only data takes of the windows, and goes by way of `data`. */
  write(frames: Buffer, written?: () => void): void {
    if (!this.#isOver) this.#socket.write(frames, written);
  }

  cork(): void {
    this.#socket.cork();
  }

  uncork(): void {
    this.#socket.uncork();
  }

  /** Ends the connection with a last word. */
  leave(code: ErrorCode, words = ''): void {
    if (this.#isOver) return;
    this.#finish();
    this.#socket.end(goAwayFrame(theStream, code, words));
    // A peer that takes no last word, or does not end its side after it, is not waited for.
    const lastWord = setTimeout(() => this.#socket.destroy(), lastWordMs).unref();
    this.#socket.once('close', () => clearTimeout(lastWord));
  }

  /** Ends the connection because the peer broke the rules, or because of a fault of ours. */
  fail(thrown: unknown): void {
    const isViolation = thrown instanceof ConnectionError;
    const [code, words] = isViolation ? [thrown.code, thrown.message] : [errorCode.internalError, ''];
    if (this.#isOver) return;
    this.leave(code, words);
    this.#stream.onLost(thrown instanceof Error ? thrown : new Error(String(thrown)));
  }

  onSettings({ initialWindowBytes, maxFrameBytes }: Settings): void {
    // Precedes whatever makes use of them: until it has this, the peer holds us to what it had set before.
    this.#answer(settingsAckFrame);
    if (maxFrameBytes !== undefined) this.data.onMaxFrameBytes(maxFrameBytes);
    if (initialWindowBytes !== undefined) this.data.onInitialWindow(initialWindowBytes);
  }

  onPing(payload: Buffer): void {
    this.#answer(pingAckFrame(payload));
  }

  /** The stream goes on as long as the peer lets it; the word is kept for when the connection ends. */
  onGoAway(code: number, words: string): void {
    this.#reason = `The other side closed the connection with code ${code}${words === '' ? '.' : `: ${words}`}`;
  }

  onWindowUpdate(streamId: number, bytes: number): void {
    if (streamId > theStream) this.#stream.onOtherStream(streamId);
    else this.data.onWindowUpdate(streamId, bytes);
  }

  onReset(streamId: number, code: number): void {
    if (this.#isOver) return;
    if (streamId === theStream) this.#stream.onReset(code);
    else this.#stream.onOtherStream(streamId);
  }

  onHeaders(headers: Headers): void {
    if (!this.#isOver) this.#stream.onHeaders(headers);
  }

  onDataBegin(streamId: number, length: number): void {
    this.#window.onReceived(length);
    this.#isStreamData = streamId === theStream;
    if (this.#isStreamData) this.#streamWindow.onReceived(length);
    else this.#stream.onOtherStream(streamId);
  }

  onData(part: Buffer): void {
    if (this.#isStreamData && !this.#isOver) this.#stream.onData(part);
  }

  onDataEnd(_streamId: number, isLast: boolean): void {
    if (this.#isStreamData && isLast && !this.#isOver) this.#stream.onEnd();
  }

  #answer(frame: Buffer): void {
    if (this.#socket.writableLength > mostUnsentBytes) {
      throw new ConnectionError(errorCode.enhanceYourCalm, 'the other side asks and does not read the answers');
    }
    this.write(frame);
  }

  #onLost(cause: Error): void {
    if (this.#isOver) return;
    this.#finish();
    this.#socket.destroy();
    this.#stream.onLost(cause);
  }

  #finish(): void {
    this.#isOver = true;
    this.#heartbeat[Symbol.dispose]();
  }
}

/** A peer that says nothing for so long is asked, and is given up when it has said nothing after as long again. */
const silenceMs = 5_000;

/** How long the last word may take. */
const lastWordMs = 1_000;

/** Frames other than DATA are small. */
const maxControlBytes = 16 * 1024;

/** Far above what calls have on their way at any time. */
const mostUnsentBytes = 4 * 1024 * 1024;
