/** Somebody else is at work on the days, and takes long. */
export class EventDaysBusyError extends Error {
  override readonly name = 'EventDaysBusyError';
}
