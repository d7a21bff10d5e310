import { GatewayError } from '@gateway/errors';
import type { ErrorDialect } from '../errors/error-dialect.ts';
import { type RenderedError, renderError } from '../errors/render-error.ts';

/** A request that breaks the rules of HTTP, or asks HTTP for what is not given here. Its status is one of HTTP's own. */
export class HttpFault extends GatewayError {
  readonly status: 400 | 405 | 408 | 417 | 426 | 431;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: HttpFault['status'], message: string, headers: Readonly<Record<string, string>> = {}) {
    super(status === 405 ? 'method_not_allowed' : 'invalid_request', message);
    this.status = status;
    this.headers = headers;
  }
}

export function renderHttpFault(fault: HttpFault, dialect: ErrorDialect): RenderedError {
  const rendered = renderError(alike(fault, dialect), dialect, 0);
  return { ...rendered, status: fault.status, headers: { ...rendered.headers, ...fault.headers } };
}

/** The Messages shape names the status, and has one type for all that are not in its table: that of a 500. */
function alike(fault: HttpFault, dialect: ErrorDialect): GatewayError {
  return dialect === 'messages' && fault.status !== 400 ? new GatewayError('internal_error', fault.message) : fault;
}

/** What is wrong with a connection on which Node found no request, or only the beginning of one. */
export function toHttpFault(code: string | undefined): HttpFault {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new HttpFault(408, 'The request was not sent in time.');
    case 'HPE_HEADER_OVERFLOW':
      return new HttpFault(431, 'The request line and headers are too large.');
    case 'HPE_INVALID_EOF_STATE':
      return new HttpFault(400, 'The request broke off.');
    default:
      return new HttpFault(400, 'The request is not valid HTTP.');
  }
}
