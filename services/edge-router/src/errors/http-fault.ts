import { GatewayError } from '@gateway/errors';

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
