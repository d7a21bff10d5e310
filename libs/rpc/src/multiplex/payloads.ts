import { ProtocolViolation } from './frames.ts';
import type { MultiplexLimits } from './limits.ts';

/** What each side says of itself in its first frame. */
export type Hello = Pick<MultiplexLimits, 'windowBytes' | 'maxMessageBytes'>;

const version = 1;

export function encodeHello(hello: Hello): Buffer {
  const payload = Buffer.allocUnsafe(9);
  payload[0] = version;
  payload.writeUInt32BE(hello.windowBytes, 1);
  payload.writeUInt32BE(hello.maxMessageBytes, 5);
  return payload;
}

/** Later versions may append to the payload, but must stay readable by this one, or be a service of another name. */
export function decodeHello(payload: Buffer): Hello {
  if (payload.length < 9) throw new ProtocolViolation('a hello is too short');
  return { windowBytes: payload.readUInt32BE(1), maxMessageBytes: payload.readUInt32BE(5) };
}

export interface Opening {
  readonly path: string;
  /** 0: no limit. */
  readonly timeoutMs: number;
}

export function encodeOpening({ path, timeoutMs }: Opening): Buffer {
  const payload = Buffer.allocUnsafe(4 + path.length);
  payload.writeUInt32BE(timeoutMs, 0);
  payload.write(path, 4, 'latin1');
  return payload;
}

export function decodeOpening(payload: Buffer): Opening {
  if (payload.length < 4) throw new ProtocolViolation('an opening is too short');
  return { timeoutMs: payload.readUInt32BE(0), path: payload.toString('latin1', 4) };
}

export function decodeCredit(payload: Buffer): number {
  if (payload.length !== 4) throw new ProtocolViolation('credit is not a number of four bytes');
  return payload.readUInt32BE(0);
}
