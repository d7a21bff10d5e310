import { toJson } from '@bufbuild/protobuf';
import type { Environment } from '@gateway/config';
import { type RequestLogged, RequestLoggedSchema } from '@gateway/proto/usage/v1/request_log_pb.js';
import { RequestFilter, type UsageReportService } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { UsageRecordedSchema } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import type { Client } from '@gateway/rpc';
import { Command, Option } from 'commander';
import { callOptions, openUsagePlane } from '../control-plane.ts';
import { type Columns, formatRecords, jsonLine, note, print, timeText } from '../output.ts';
import { wholeNumber } from './flags.ts';
import { afterText, endingText, ledgerText, requestText } from './request/request-text.ts';

/** `gatewayctl request …` */
export function requestCommand(env: Environment): Command {
  const request = new Command('request').description(
    'See why requests went where they went, as long as the request log has them.',
  );
  request
    .command('show', { isDefault: true })
    .description(
      'What became of one request: accounts tried and passed over, why, outcome, times. "show" may be left out. When the request log does not have it, what the ledger has. Exits 1 when neither has it.',
    )
    .argument(
      '<id>',
      "the request's id, the x-request-id of its answer; or a text with it in it, such as the id of a chat completion",
    )
    .option('--json', 'as one JSON object')
    .action(async (id: string, flags: { readonly json?: boolean }) => {
      await using plane = await openUsagePlane(env);
      if (!(await showRequest(plane.report, id, flags))) process.exitCode = 1;
    });
  request
    .command('list')
    .description('The latest requests, newest first.')
    .option('--token <id>', "only this token's")
    .option('--model <id>', 'only those that asked for it, or that were sent to a provider as it')
    .addOption(new Option('--status <status>', 'only those that ended so').choices(Object.keys(filters)))
    .option('--last <number>', 'how many at most', wholeNumber(1, 1_000), 20)
    .option('--json', 'as JSON, one request a line')
    .action(async (flags: ListFlags) => {
      await using plane = await openUsagePlane(env);
      await listRequests(plane.report, flags);
    });
  return request;
}

/** Prints what the request log has of a request, else what the ledger has. @param named a text with its id in it. @returns false when neither has it. */
export async function showRequest(
  report: Pick<Client<typeof UsageReportService>, 'findRequest'>,
  named: string,
  { json = false }: { readonly json?: boolean },
): Promise<boolean> {
  const { log, request } = await report.findRequest({ requestId: requestIdIn(named) }, callOptions);
  if (log !== undefined) {
    print(json ? jsonLine(toJson(RequestLoggedSchema, log)) : requestText(log));
    return true;
  }
  note(
    'The request log does not have the request: it is too long ago, still under way, one of too many refused ones, or asked no model with a valid token.',
  );
  if (request === undefined) {
    note('The ledger does not have it either.');
    return false;
  }
  print(json ? jsonLine(toJson(UsageRecordedSchema, request)) : ledgerText(request));
  return true;
}

/** Throws when there is no request's id in the text. */
function requestIdIn(text: string): string {
  const found = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/.exec(text.toLowerCase());
  if (found !== null) return found[0];
  throw new Error(
    `${JSON.stringify(text)} has no request's id in it. Ids stand in the header x-request-id of every answer, in log lines as request_id, and in the id of a chat completion; find others with: gatewayctl request list`,
  );
}

const filters = {
  failed: RequestFilter.FAILED,
  moved: RequestFilter.MOVED,
  slow: RequestFilter.SLOW,
  refused: RequestFilter.REFUSED,
  aborted: RequestFilter.ABORTED,
};

export interface ListFlags {
  readonly token?: string;
  readonly model?: string;
  readonly status?: keyof typeof filters;
  readonly last: number;
  readonly json?: boolean;
}

/** Prints the latest requests that match, newest first. */
export async function listRequests(
  report: Pick<Client<typeof UsageReportService>, 'listRequests'>,
  { token = '', model = '', status, last, json = false }: ListFlags,
): Promise<void> {
  const filter = status === undefined ? RequestFilter.UNSPECIFIED : filters[status];
  const { requests } = await report.listRequests({ tokenId: token, model, filter, limit: last }, callOptions);
  if (json) print(requests.map((each) => jsonLine(toJson(RequestLoggedSchema, each))).join(''));
  else if (requests.length === 0) note('No request of the log matches.');
  else print(formatRecords(columns, requests));
}

const columns: Columns<RequestLogged> = {
  received: ({ receivedAt }) => timeText(receivedAt),
  request: ({ requestId }) => requestId,
  token: ({ tokenId }) => tokenId,
  model: (request) => request.model,
  accounts: ({ attempts }) => attempts.map(({ accountId }) => accountId).join(' → '),
  ended: endingText,
  'first byte': ({ times }) => afterText(times?.firstByte),
  total: ({ times }) => afterText(times?.ended),
};
