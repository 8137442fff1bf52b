/** The two functions of `async` that the bench plays; the package ships no types. */
declare module 'async' {
  export function auto(
    tasks: Record<
      string,
      (() => Promise<void>) | [...string[], (results: object) => Promise<void>]
    >,
    concurrency: number,
  ): Promise<object>

  export function queue<T>(
    worker: (item: T) => Promise<void>,
    concurrency: number,
  ): { push(item: T): Promise<void>; drain(): Promise<void> }
}
