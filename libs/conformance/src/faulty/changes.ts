import type { Fault, Frame } from './faulty-gateway.ts';

export function faultsOf(endpoint: Fault['endpoint'], faults: readonly Omit<Fault, 'endpoint'>[]): readonly Fault[] {
  return faults.map((fault) => ({ endpoint, ...fault }));
}

/** The events but those with the name or the data. */
export function without(text: string) {
  return (frames: readonly Frame[]) => frames.filter(({ event, data }) => event !== text && data !== text);
}

export function swap(from: string | RegExp, to: string) {
  return (text: string) => text.replaceAll(from, to);
}

/** An answer that is an error in every format. */
export function refuse(status: number) {
  return { status, body: '{"type":"error","error":{"type":"api_error","message":"No."}}' };
}
