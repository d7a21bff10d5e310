import { RpcError } from '@gateway/rpc';
import type { Edge } from '../../control-plane/edges.ts';
import { isUnimplemented } from '../../control-plane/unimplemented.ts';
import type { Terminal } from '../../output/terminal.ts';

/** What each edge answers. One that does not is told of on the side: the others may know enough. */
export async function askEdges<T>(
  edges: readonly Edge[],
  ask: (edge: Edge) => Promise<T>,
  terminal: Terminal,
): Promise<readonly T[]> {
  const answers = await Promise.allSettled(edges.map(ask));
  return answers.flatMap((answer, index) => {
    if (answer.status === 'fulfilled') return [answer.value];
    if (!(answer.reason instanceof RpcError)) throw answer.reason;
    terminal.note(`${edges[index]?.url}: ${failureText(answer.reason)}`);
    return [];
  });
}

function failureText(reason: RpcError): string {
  return isUnimplemented(reason) ? 'is no edge: only edges remember requests' : `did not answer (${reason.message})`;
}
