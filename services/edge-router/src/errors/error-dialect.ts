/** In whose words an endpoint reports its errors. @see spec "Errors" */
export type ErrorDialect = 'chat' | 'messages' | 'responses';
