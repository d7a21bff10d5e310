/** The type that the documentation gives to a status. @see https://docs.claude.com/en/api/errors */
export const messagesErrorTypes: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};

export const messagesErrorTypeOf = (status: number) => messagesErrorTypes[status] ?? 'api_error';
