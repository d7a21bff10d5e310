import { toJson } from '@bufbuild/protobuf';
import { type RequestTrace, RequestTraceSchema } from '@gateway/proto/edge/v1/request_trace_service_pb.js';
import { type UsageRecorded, UsageRecordedSchema } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { callOptions } from '../../control-plane/control-plane.ts';
import type { Edge } from '../../control-plane/edges.ts';
import type { UsagePlane } from '../../control-plane/usage-plane.ts';
import type { Terminal } from '../../output/terminal.ts';
import { askEdges } from './ask-edges.ts';
import { ledgerText } from './ledger-text.ts';
import { requestText } from './request-text.ts';

export interface ShowFlags {
  readonly json?: boolean;
}

/** Where the ledger is, opened only when no edge knows the request. */
export type OpenLedger = () => Promise<Pick<UsagePlane, 'report'> & AsyncDisposable>;

/**
 * Prints the story of a request, as the edge tells it that served it; when none knows it, what the ledger has.
 *
 * @param named a text with the request's id in it, such as the id of a chat completion.
 * @returns false when nobody knows of the request.
 */
export async function showRequest(
  { edges, openLedger }: { readonly edges: readonly Edge[]; readonly openLedger: OpenLedger },
  named: string,
  flags: ShowFlags,
  terminal: Terminal,
): Promise<boolean> {
  const requestId = requestIdIn(named);
  const answers = await askEdges(edges, ({ traces }) => traces.getTrace({ requestId }, callOptions), terminal);
  const trace = answers.find((answer) => answer.trace !== undefined)?.trace;
  if (trace !== undefined) {
    await terminal.print(flags.json ? jsonOfTrace(trace) : requestText(trace));
    return true;
  }
  terminal.note(notKnown(answers.length));
  const booked = await askLedger(openLedger, requestId, terminal);
  if (booked === undefined) return false;
  await terminal.print(flags.json ? jsonOfBooked(booked) : ledgerText(booked));
  return true;
}

/** Throws when there is no request's id in the text. */
function requestIdIn(text: string): string {
  const found = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/.exec(text.toLowerCase());
  if (found !== null) return found[0];
  throw new Error(
    `${JSON.stringify(text)} has no request's id in it. Ids stand in the header x-request-id of every answer, in the edge's log as requestId, and in the id of a chat completion; find others with: gatewayctl request list`,
  );
}

function notKnown(edges: number): string {
  if (edges === 0) return 'No edge answered.';
  const asked =
    edges === 1 ? 'The edge that was asked does not know' : `None of the ${edges} edges that were asked knows`;
  return `${asked} the request: it is too long ago, was served by another edge or before a restart, or asked no model with a valid token.`;
}

async function askLedger(
  openLedger: OpenLedger,
  requestId: string,
  terminal: Terminal,
): Promise<UsageRecorded | undefined> {
  try {
    await using ledger = await openLedger();
    const { request } = await ledger.report.findRequest({ requestId }, callOptions);
    if (request === undefined) terminal.note('The ledger does not have it either.');
    return request;
  } catch (thrown) {
    terminal.note(`The ledger could not be asked (${thrown instanceof Error ? thrown.message : String(thrown)}).`);
    return undefined;
  }
}

function jsonOfTrace(trace: RequestTrace): string {
  return `${JSON.stringify(toJson(RequestTraceSchema, trace))}\n`;
}

function jsonOfBooked(request: UsageRecorded): string {
  return `${JSON.stringify(toJson(UsageRecordedSchema, request))}\n`;
}
