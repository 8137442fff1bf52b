/** Thread jobs of the rows about permits. */
import { job } from '@heddle/core'

const inThread = { place: 'thread', module: import.meta.url } as const

/** Uses a processor for 10 ms. */
export const parse = job({ name: 'parse', ...inThread }, (row: number) => {
  useProcessor(10)
  return row
})

/** Uses a processor for this many milliseconds; `n` distinguishes equal jobs. */
export const spin = job({ name: 'spin', ...inThread }, ({ ms, n }: { ms: number; n: number }) => {
  useProcessor(ms)
  return n
})

function useProcessor(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}
