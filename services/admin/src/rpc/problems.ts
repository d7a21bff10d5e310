import { Code, ConnectError } from '@connectrpc/connect';
import { InvalidFieldsSchema } from '@gateway/proto/admin/v1/invalid_fields_pb.js';

/** Problems of a request, by field: `{ label: 'Give it a name of 1 to 100 characters.' }`. */
export type FieldProblems = Readonly<Record<string, string>>;

/** Refuses a request because of its fields. Nothing may have been changed before. */
export function invalidFields(problems: FieldProblems): ConnectError {
  const fields = Object.entries(problems).map(([field, text]) => ({ field, text }));
  const text = fields.map((each) => `${each.field}: ${each.text}`).join(' ');
  return new ConnectError(text, Code.InvalidArgument, undefined, [{ desc: InvalidFieldsSchema, value: { fields } }]);
}

/** @throws ConnectError if there is a problem. */
export function checkFields(problems: FieldProblems): void {
  if (Object.keys(problems).length > 0) throw invalidFields(problems);
}

/** The same for the problems that the shared rules find: they begin with a verb. */
export function checkSentences(problems: FieldProblems): void {
  const sentences = Object.entries(problems).map(([field, text]) => [
    field,
    `${text[0]?.toUpperCase()}${text.slice(1)}`,
  ]);
  checkFields(Object.fromEntries(sentences));
}

/** Another operator changed it since the caller read it. */
export function changedMeanwhile(what: string): ConnectError {
  return new ConnectError(
    `${what} was changed meanwhile. Review the current state before you change it.`,
    Code.Aborted,
  );
}

export function notFound(what: string): ConnectError {
  return new ConnectError(`There is no ${what}.`, Code.NotFound);
}
