/** Milliseconds that the job of a number takes. Some are so long that several faults meet them: these are interrupted. */
export function timeOf(n: number): number {
  return n % 101 === 0 ? 12_000 : n % 40
}
