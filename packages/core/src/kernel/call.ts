/** Calls a function at once; its error becomes a rejection, as from an async function. */
export function callAsync<T>(run: () => T | PromiseLike<T>): Promise<T> {
  return new Promise((resolve) => {
    resolve(run())
  })
}

/** Whether it is awaited where a promise is allowed. */
export function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as Partial<PromiseLike<T>> | null | undefined)?.then === 'function'
}
