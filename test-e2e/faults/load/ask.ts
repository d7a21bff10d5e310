import type { IncomingMessage } from 'node:http';
import { postQuestion } from './post-question.ts';
import { readAnswer } from './read-answer.ts';
import type { RequestKind } from './request-kinds.ts';

export interface Question {
  readonly baseUrl: string;
  readonly token: string;
  readonly kind: RequestKind;
  /** The prompt. */
  readonly text: string;
  /** The expected text of the answer. */
  readonly expected: string | undefined;
  /** The client hangs up after this many bytes of the answer. Undefined: it stays. */
  readonly leavesAfterBytes: number | undefined;
  readonly timeoutMs: number;
}

/**
 * How a request ended, as its client saw it:
 * - `whole`: a complete answer;
 * - `cut`: an answer that began and broke off, with an error event or without;
 * - `left`: the client hung up in the middle of an answer;
 * - `refused`: an error status;
 * - `broken`: no status at all;
 * - `unreached`: there was no edge to connect to.
 */
export type ClientView = 'whole' | 'cut' | 'left' | 'refused' | 'broken' | 'unreached';

export interface AskedQuestion {
  readonly view: ClientView;
  readonly status: number | undefined;
  /** Faults that no client may ever see. */
  readonly problem: string | undefined;
}

/** Sends one request, without any retry, on a connection of its own. Never rejects. */
export async function ask(question: Question): Promise<AskedQuestion> {
  const { response, failure } = await postQuestion(question);
  if (response === undefined) {
    const view = failure === 'ECONNREFUSED' ? 'unreached' : 'broken';
    return { view, status: undefined, problem: undefined };
  }
  const status = response.statusCode ?? 0;
  const received = await receive(response, question.leavesAfterBytes);
  if (status !== 200) return { view: 'refused', status, problem: undefined };
  const { whole, problem } = readAnswer({ ...received, shape: question.kind.shape, expected: question.expected });
  return { view: whole ? 'whole' : received.left ? 'left' : 'cut', status, problem };
}

async function receive(response: IncomingMessage, leavesAfterBytes = Number.POSITIVE_INFINITY) {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let left = false;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      left = bytes >= leavesAfterBytes;
      if (left) break;
    }
  } catch {
    // Reset by the other side, or timed out.
  }
  response.destroy();
  return { text: Buffer.concat(chunks).toString(), ended: response.complete && !left, left };
}
