/**
 * Keeps the frames of one answer a millisecond apart while its events come faster than that. What comes in between goes into
 * one frame: a frame costs every process on its way more than all the events in it. The first frames of an answer, and
 * events that come one by one, never wait.
 */
export class FramePace {
  #frames = 0;
  #lastMs = Number.NEGATIVE_INFINITY;

  /** A frame goes out now. */
  onFrame(): void {
    this.#frames++;
    this.#lastMs = performance.now();
  }

  /** What to wait for before the next frame is made; undefined: nothing. */
  untilNext(): Promise<void> | undefined {
    if (this.#frames < unpacedFrames || performance.now() - this.#lastMs >= paceMs) return undefined;
    return nextBeat();
  }
}

const paceMs = 1;

/** A short answer has no more, and a client sees at once that an answer has begun. */
const unpacedFrames = 4;

let beat: Promise<void> | undefined;

/** All answers that wait go on together, so that their frames leave in one write. */
function nextBeat(): Promise<void> {
  beat ??= new Promise((resolve) => {
    setTimeout(() => {
      beat = undefined;
      resolve();
    }, paceMs);
  });
  return beat;
}
