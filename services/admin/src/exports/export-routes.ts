import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ConnectError } from '@connectrpc/connect';
import { InvalidFieldsSchema } from '@gateway/proto/admin/v1/invalid_fields_pb.js';
import { type Request, type RequestHandler, type Response, Router } from 'express';
import type { AdminParts } from '../parts.ts';
import { TokenNames } from '../usage/token-names.ts';
import { requestColumns, usageColumns } from './export-columns.ts';
import { chargePages, requestPages, usageRowPages } from './export-pages.ts';
import { readRequestExport, readUsageExport } from './export-query.ts';
import { type ExportFormat, exportTexts, requestJson } from './export-texts.ts';
import { focusColumns } from './focus-columns.ts';

/**
 * Exports all rows of a report or a search as a file: GET /export/usage and GET /export/requests.
 * For viewers.
 */
export function exportRoutes({ peers, logger }: Pick<AdminParts, 'peers' | 'logger'>): Router {
  const parts = { peers, names: new TokenNames(peers.identity) };
  const onBroken = (err: unknown) => logger.warn({ err }, 'an export was interrupted');
  const router = Router();
  router.get(
    '/export/usage',
    exported(readUsageExport, onBroken, (query, signal) => {
      const { format } = query;
      const days = `${query.firstDay}-to-${query.lastDay}`;
      if (format === 'focus') {
        const texts = exportTexts(chargePages(parts, query, signal), 'csv', focusColumns);
        return { name: `focus-${days}`, format: 'csv', texts };
      }
      const texts = exportTexts(usageRowPages(parts, query, signal), format, usageColumns);
      return { name: `usage-${days}`, format, texts };
    }),
  );
  router.get(
    '/export/requests',
    exported(readRequestExport, onBroken, (query, signal) => ({
      name: 'requests',
      format: query.format,
      texts: exportTexts(requestPages(parts, query, signal), query.format, requestColumns, requestJson),
    })),
  );
  return router;
}

interface Export {
  /** The name of the file, without its extension. */
  readonly name: string;
  readonly format: ExportFormat;
  readonly texts: AsyncGenerator<string>;
}

/** Sends an export at the client's pace, and stops when the client has left. */
function exported<Q>(
  read: (parameters: unknown) => Q,
  onBroken: (fault: unknown) => void,
  open: (query: Q, signal: AbortSignal) => Export,
): RequestHandler {
  return async (request: Request, response: Response) => {
    const left = new AbortController();
    response.once('close', () => left.abort());
    const begin = async () => {
      const query = read(request.query);
      const { name, format, texts } = open(query, left.signal);
      return { name, format, texts, first: await texts.next() };
    };
    // A failure before the first rows is answered as an error.
    const begun = await begin().catch((thrown: unknown) => sendProblems(response, thrown));
    if (begun === undefined) return;
    const { name, format, texts, first } = begun;
    response.attachment(`${name}.${format}`).type(contentTypes[format]);
    if (request.method === 'HEAD') return void response.end();
    try {
      // A later failure destroys the response, so that the client sees that it is incomplete.
      await pipeline(Readable.from(joined(first, texts)), response);
    } catch (thrown) {
      if (!hasLeft(thrown)) onBroken(thrown);
    }
  };
}

const contentTypes = { csv: 'text/csv; charset=utf-8', ndjson: 'application/x-ndjson' } as const;

async function* joined(first: IteratorResult<string>, rest: AsyncGenerator<string>): AsyncGenerator<string> {
  if (first.done !== true) yield first.value;
  yield* rest;
}

/** Answers with the problems of a request's fields. @throws any other error. */
function sendProblems(response: Response, thrown: unknown): undefined {
  const details = thrown instanceof ConnectError ? thrown.findDetails(InvalidFieldsSchema) : [];
  if (details.length === 0) throw thrown;
  const fields = details.flatMap((each) => each.fields).map(({ field, text }) => ({ field, text }));
  response.status(400).json({ fields });
}

/** The client went away before the end. */
function hasLeft(thrown: unknown): boolean {
  return thrown instanceof Error && 'code' in thrown && thrown.code === 'ERR_STREAM_PREMATURE_CLOSE';
}
