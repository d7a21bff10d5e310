/** A model id split into what it names and the date of the snapshot it is. */
export interface DatedId {
  readonly undated: string;
  /** "2025-10-01". Undefined for an id without a date. */
  readonly date: string | undefined;
}

/** Reads a date at the end of a model id, written -20251001 or -2025-10-01. */
export function splitSnapshotDate(id: string): DatedId {
  const found =
    /^(?<undated>.+)-(?<year>20\d\d)(?<dash>-?)(?<month>0[1-9]|1[0-2])\k<dash>(?<day>0[1-9]|[12]\d|3[01])$/.exec(id);
  if (found?.groups === undefined) return { undated: id, date: undefined };
  const { undated = id, year, month, day } = found.groups;
  return { undated, date: `${year}-${month}-${day}` };
}
