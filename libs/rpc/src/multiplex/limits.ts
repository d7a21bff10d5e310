import { maxPieceBytes } from './frames.ts';

const KiB = 1024;
const MiB = 1024 * KiB;

/** How much a stream of calls may hold. All in bytes. */
export interface MultiplexLimits {
  /** What may wait at the receiver of a call, per direction, before its sender pauses; one piece may go beyond it. */
  readonly windowBytes: number;
  /** Largest message that is taken. */
  readonly maxMessageBytes: number;
  /** Longer messages are sent in pieces of this size, between which other calls have their turn. */
  readonly pieceBytes: number;
  /** A batch is closed once it is so long. */
  readonly batchBytes: number;
  /** Above this many bytes on their way to the network, calls wait. */
  readonly inFlightBytes: number;
}

export const defaultLimits: MultiplexLimits = {
  windowBytes: MiB,
  // As over plain gRPC.
  maxMessageBytes: 8 * MiB,
  pieceBytes: maxPieceBytes,
  batchBytes: 256 * KiB,
  inFlightBytes: 512 * KiB,
};
