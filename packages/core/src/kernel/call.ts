/** Calls a function at once; what it throws becomes a rejection, as from an async function. */
export function callAsync<T>(run: () => T | PromiseLike<T>): Promise<T> {
  return new Promise((resolve) => {
    resolve(run())
  })
}
