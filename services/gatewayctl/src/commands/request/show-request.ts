import { toJson } from '@bufbuild/protobuf';
import { RequestLoggedSchema } from '@gateway/proto/usage/v1/request_log_pb.js';
import type { UsageReportService } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { UsageRecordedSchema } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import type { Client } from '@gateway/rpc';
import { callOptions } from '../../control-plane/control-plane.ts';
import type { Terminal } from '../../output/terminal.ts';
import { ledgerText } from './ledger-text.ts';
import { requestText } from './request-text.ts';

export interface ShowFlags {
  readonly json?: boolean;
}

/**
 * Prints what became of a request, as the request log has it; when it does not, what the ledger has.
 *
 * @param named a text with the request's id in it, such as the id of a chat completion.
 * @returns false when neither has it.
 */
export async function showRequest(
  report: Pick<Client<typeof UsageReportService>, 'findRequest'>,
  named: string,
  { json = false }: ShowFlags,
  terminal: Terminal,
): Promise<boolean> {
  const { log, request } = await report.findRequest({ requestId: requestIdIn(named) }, callOptions);
  if (log !== undefined) {
    await terminal.print(json ? `${JSON.stringify(toJson(RequestLoggedSchema, log))}\n` : requestText(log));
    return true;
  }
  terminal.note(
    'The request log does not have the request: it is too long ago, still under way, one of too many refused ones, or asked no model with a valid token.',
  );
  if (request === undefined) {
    terminal.note('The ledger does not have it either.');
    return false;
  }
  await terminal.print(json ? `${JSON.stringify(toJson(UsageRecordedSchema, request))}\n` : ledgerText(request));
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
