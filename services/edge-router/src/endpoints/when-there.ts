/** Acts with a value: at once when it is there, which saves most requests the wait, else when it has come. */
export function whenThere<T, R>(value: T | Promise<T>, act: (value: T) => Promise<R>): Promise<R> {
  return value instanceof Promise ? value.then(act) : act(value);
}
