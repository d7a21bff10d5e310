import { requestFilterName, requestFilters } from '@gateway/presentation/request-endings';
import {
  type GetRequestResponse,
  GetRequestResponseSchema,
  type RequestListing,
  RequestListingSchema,
  RequestService,
} from '@gateway/proto/admin/v1/request_service_pb.js';
import type { RequestFilter } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { Command, InvalidArgumentError } from 'commander';
import { endless } from '../connection/deadlines.ts';
import { notFoundToUndefined } from '../connection/not-found.ts';
import { firstOf, type Page } from '../connection/pages.ts';
import { note, type OutputFlags, printList, printMessage, streamPrinter, withOutput } from '../output/print.ts';
import type { Columns } from '../output/table.ts';
import { timeText } from '../output/words.ts';
import type { CommandContext } from './context.ts';
import { accountId, idOrPrefix, pastMoment, type RangeFlags, wholeNumber } from './flags.ts';
import { afterText, endingCell, ledgerText, requestText } from './request/request-text.ts';

/** `gatewayctl request …` */
export function requestCommand({ connect }: CommandContext): Command {
  const request = new Command('request').description(
    'Shows how requests were routed and why, as long as the request log keeps them.',
  );
  withOutput(request.command('show', { isDefault: true }))
    .description(
      'Shows one request: accounts tried and skipped, reasons, ending, timings. "show" is optional. Falls back to the ledger when the request log does not have the request.',
    )
    .argument(
      '<id>',
      'a request id (the x-request-id response header), the id of a chat completion, or the beginning of either',
      idOrPrefix,
    )
    .action(async (requestId: string, output: OutputFlags) => {
      await using admin = await connect({ reads: true });
      const found = await admin.clientOf(RequestService).getRequest({ requestId }).catch(notFoundToUndefined);
      if (found?.request?.request?.receivedAtMs === undefined) {
        note(
          'The request log does not have this request. It may be too old, still in flight, one of too many rejected requests, or a request without a model or a valid token.',
        );
        if (found === undefined) throw new Error(`the ledger has no request ${requestId} either.`);
      }
      await printMessage(output, GetRequestResponseSchema, found, wholeStory);
    });
  withOutput(withSearch(request.command('list')))
    .description('Lists the latest requests, newest first.')
    .option('--since <when>', 'received after: 1h, 2d, or a time', pastMoment)
    .option('--until <when>', 'received before: 1h, 2d, or a time', pastMoment)
    .option('--last <number>', 'maximum number of rows', wholeNumber(1, 1_000_000), 20)
    .action(async ({ since, until, last, ...flags }: SearchFlags & RangeFlags) => {
      await using admin = await connect({ reads: true });
      const asked = { search: { ...searchOf(flags), sinceMs: since, untilMs: until }, token: flags.token ?? '' };
      const ask = (page: Page) => admin.clientOf(RequestService).listRequests({ ...asked, ...page });
      const pages = firstOf(last, ask, ({ requests }) => requests);
      await printList(flags, RequestListingSchema, pages, { columns, whenNone: 'No matching requests in the log.' });
    });
  withOutput(withSearch(request.command('tail')))
    .description('Prints requests as they end, until you stop the command.')
    .action(async (flags: SearchFlags) => {
      await using admin = await connect({ running: true });
      const printAll = streamPrinter(flags, RequestListingSchema, columns);
      const asked = { search: searchOf(flags), token: flags.token ?? '' };
      for await (const { requests, leftOut } of admin.clientOf(RequestService).watchRequests(asked, endless)) {
        await printAll(requests);
        if (leftOut > 0) note(`${leftOut} more ended at the same time (not shown)`);
      }
    });
  return request;
}

type Status = { readonly filter: RequestFilter } | { readonly status: number };

interface SearchFlags extends OutputFlags {
  readonly token?: string;
  readonly model?: string;
  readonly account?: string;
  readonly endpoint?: string;
  readonly status?: Status;
}

function withSearch(command: Command): Command {
  return command
    .option('--token <token>', 'only requests of this token: its id, the beginning of the id, or its label', idOrPrefix)
    .option('--model <id>', 'only requests for this model, or sent to a provider as this model')
    .option('--account <pool/name>', 'only requests that tried this account', accountId)
    .option('--endpoint <path>', 'only requests to this endpoint, such as /v1/messages')
    .option(
      '--status <status>',
      `only requests with this outcome: ${Object.keys(requestFilters).join(', ')}, 404, 5xx`,
      statusOf,
    );
}

function statusOf(text: string): Status {
  const name = requestFilterName(text);
  if (name !== undefined) return { filter: requestFilters[name] };
  if (/^[45]xx$/.test(text)) return { status: Number(text[0]) * 100 };
  if (/^[1-5]\d\d$/.test(text)) return { status: Number(text) };
  throw new InvalidArgumentError(
    `It must be ${Object.keys(requestFilters).join(', ')}, a status such as 404, 4xx or 5xx.`,
  );
}

function searchOf({ model, account, endpoint, status }: SearchFlags) {
  return { model: model ?? '', accountId: account ?? '', endpoint: endpoint ?? '', ...status };
}

function wholeStory({ request: listing, loggedAtMs }: GetRequestResponse): string {
  if (listing?.request === undefined) return '';
  const { request, tokenLabel } = listing;
  return request.receivedAtMs === undefined ? ledgerText(request) : requestText(request, tokenLabel, loggedAtMs);
}

const columns: Columns<RequestListing> = {
  received: ({ request }) => timeText(request?.receivedAtMs),
  request: ({ request }) => request?.requestId ?? '',
  token: ({ tokenLabel, request }) => tokenLabel || (request?.tokenId ?? ''),
  endpoint: { of: ({ request }) => request?.endpoint ?? '', spare: true },
  model: ({ request }) => request?.model ?? '',
  accounts: ({ request }) => request?.attempts.map((attempt) => attempt.accountId).join(' → ') ?? '',
  ended: ({ request }) => (request === undefined ? '' : endingCell(request)),
  'first byte': { of: ({ request }) => afterText(request?.times?.firstByte), spare: true },
  total: ({ request }) => afterText(request?.times?.ended),
};
