import { type CustomTypesConfig, types } from 'pg';

/** How values of Postgres become values of ours: int8 as a number, as SQLite gives it. */
export const numberTypes: CustomTypesConfig = {
  getTypeParser: (oid, format) => (oid === types.builtins.INT8 ? toSafeInteger : types.getTypeParser(oid, format)),
};

/** @throws RangeError for a value that a number can't hold exactly. */
function toSafeInteger(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`${text} is beyond the integers that can be counted exactly`);
  return value;
}
