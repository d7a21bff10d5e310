import { setTimeout } from 'node:timers/promises';
import type { Frame } from '../../formats/provider-format.ts';
import type { Misbehaviour, PlantedFault, WholeAnswer } from '../planted-fault.ts';

// What faults are made of.

export function fault(name: string, breaks: string, behaviour: Misbehaviour): PlantedFault {
  return { name, breaks, behaviour };
}

function events(change: (frame: Frame) => Frame): Misbehaviour {
  return {
    async *frames(frames) {
      for await (const frame of frames) yield change(frame);
    },
  };
}

/** In the data of every event, and in the body of every whole answer. */
export function text(found: RegExp, replacement: string | ((match: string) => string)): Misbehaviour {
  const replaced = (json: string) =>
    json.replaceAll(found, (match) => (typeof replacement === 'string' ? replacement : replacement(match)));
  return {
    ...events(({ event, data }) => ({ event, data: replaced(data) })),
    answer: (answer) => ({ ...answer, body: JSON.parse(replaced(JSON.stringify(answer.body))) }),
  };
}

export function answers(change: (answer: WholeAnswer) => Partial<WholeAnswer>): Misbehaviour {
  return { answer: (answer) => ({ ...answer, ...change(answer) }) };
}

export function asks(change: (body: Readonly<Record<string, unknown>>) => object): Misbehaviour {
  return { ask: (ask) => ({ ...ask, body: { ...ask.body, ...change(ask.body) } }) };
}

/** Ends a stream when nothing comes for so long. */
export function endsAfterSilence(silenceMs: number, last: readonly Frame[]): Misbehaviour {
  return {
    async *frames(frames) {
      const iterator = frames[Symbol.asyncIterator]();
      for (;;) {
        const next = await Promise.race([iterator.next(), setTimeout(silenceMs, undefined)]);
        if (next === undefined) return yield* last;
        if (next.done) return;
        yield next.value;
      }
    },
  };
}
