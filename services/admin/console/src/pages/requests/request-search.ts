import { create } from '@bufbuild/protobuf';
import { requestFilterName, requestFilters } from '@gateway/presentation';
import {
  RequestFilter,
  type RequestSearch,
  RequestSearchSchema,
} from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { addressOf } from '../../frame/address.ts';
import type { ExportFormat } from '../../ui/export-links.tsx';

/**
 * The filters of the list, as they are in the page's address: each search can be shared as a link.
 */
export type RequestFilters = Readonly<Record<(typeof filterNames)[number], string>>;

export const filterNames = [
  // The id of a token, the beginning of one, or a label.
  'token',
  'model',
  // "<pool>/<name>"
  'account',
  'endpoint',
  // "429"; "4xx" and "5xx" stand for all of them.
  'status',
  'kind',
  // The beginning of the request's id, or of the id that the client sent.
  'id',
  // ISO times in UTC.
  'since',
  'until',
] as const;

export function filtersOf(params: URLSearchParams): RequestFilters {
  const values = filterNames.map((name) => [name, params.get(name)?.trim() ?? '']);
  const { kind = '', ...given } = Object.fromEntries(values);
  return { ...given, kind: requestFilterName(kind) ?? kind } as RequestFilters;
}

/** The address of the list with these filters. */
export function requestsLink(filters: Partial<RequestFilters>): string {
  return addressOf('/requests', filters);
}

/** The address of an export of all matching requests. */
export function exportLink(filters: RequestFilters, format: ExportFormat): string {
  const { token, model, endpoint, kind, account, id, status, since, until } = filters;
  const named = { token, filter: kind, account_id: account, request_id: id, status: String(statusOf(status) || '') };
  return addressOf('/export/requests', { model, endpoint, ...named, since, until, format });
}

/**
 * The search for the gateway, without the token, which the gateway looks up by its own parameter.
 */
export function searchOf(filters: RequestFilters): RequestSearch {
  const { model, account, endpoint, status, kind, id, since, until } = filters;
  const name = requestFilterName(kind);
  return create(RequestSearchSchema, {
    model,
    accountId: account,
    endpoint,
    status: statusOf(status),
    filter: name === undefined ? RequestFilter.UNSPECIFIED : requestFilters[name],
    requestId: id.replace(/^chatcmpl-/, ''),
    ...timeOf('sinceMs', since),
    ...timeOf('untilMs', until),
  });
}

export const kinds = Object.keys(requestFilters).map((value) => ({ value, label: sentence(value) }));

/** "Failed over" */
export function sentence(name: string): string {
  return `${name.slice(0, 1).toUpperCase()}${name.slice(1).replaceAll('-', ' ')}`;
}

export const endpoints = [
  '/v1/chat/completions',
  '/v1/messages',
  '/v1/messages/count_tokens',
  '/v1/responses',
] as const;

export const statuses = ['200', '4xx', '404', '408', '413', '422', '429', '499', '5xx', '502', '503', '529'] as const;

function statusOf(text: string): number {
  const digits = /^[1-5]xx$/i.test(text) ? `${text[0]}00` : text;
  return /^\d{3}$/.test(digits) ? Number(digits) : 0;
}

function timeOf<Name extends 'sinceMs' | 'untilMs'>(name: Name, text: string) {
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? {} : { [name]: ms };
}
