import { toJson } from '@bufbuild/protobuf';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import { type RequestLogged, RequestLoggedSchema } from '@gateway/proto/usage/v1/request_log_pb.js';
import { RequestFilter, type UsageReportService } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import type { Client } from '@gateway/rpc';
import { callOptions } from '../../control-plane/control-plane.ts';
import { durationText } from '../../output/duration-text.ts';
import { formatTable } from '../../output/table.ts';
import type { Terminal } from '../../output/terminal.ts';
import { endingText } from './request-text.ts';

export const statusNames = ['failed', 'moved', 'slow', 'refused', 'aborted'] as const;

export interface ListFlags {
  readonly token?: string;
  readonly model?: string;
  readonly status?: (typeof statusNames)[number];
  readonly last: number;
  readonly json?: boolean;
}

/** Prints the latest requests that match, newest first. */
export async function listRequests(
  report: Pick<Client<typeof UsageReportService>, 'listRequests'>,
  { token = '', model = '', status, last, json = false }: ListFlags,
  terminal: Terminal,
): Promise<void> {
  const filter = status === undefined ? RequestFilter.UNSPECIFIED : filters[status];
  const { requests } = await report.listRequests({ tokenId: token, model, filter, limit: last }, callOptions);
  if (json) {
    await terminal.print(requests.map((each) => `${JSON.stringify(toJson(RequestLoggedSchema, each))}\n`).join(''));
    return;
  }
  if (requests.length === 0) terminal.note('No request of the log matches.');
  else await terminal.print(formatTable(headings, requests.map(toRow)));
}

const filters: Readonly<Record<(typeof statusNames)[number], RequestFilter>> = {
  failed: RequestFilter.FAILED,
  moved: RequestFilter.MOVED,
  slow: RequestFilter.SLOW,
  refused: RequestFilter.REFUSED,
  aborted: RequestFilter.ABORTED,
};

const headings = ['received', 'request', 'token', 'model', 'accounts', 'ended', 'first byte', 'total'];

function toRow(request: RequestLogged): readonly string[] {
  const { requestId, receivedAt, tokenId, model, attempts, moments } = request;
  return [
    receivedAt === undefined ? '' : timestampDate(receivedAt).toISOString(),
    requestId,
    tokenId,
    model,
    attempts.map(({ accountId }) => accountId).join(' → '),
    endingText(request),
    moments?.firstByte === undefined ? '–' : durationText(moments.firstByte),
    moments?.ended === undefined ? '–' : durationText(moments.ended),
  ];
}
