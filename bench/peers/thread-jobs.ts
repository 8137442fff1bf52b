/** The jobs of the thread rows, as a module of plain functions. */

export function tiny(input: number): number {
  return input + 1
}

/** Computes for one millisecond. */
export function spin(input: number): number {
  const end = performance.now() + 1
  while (performance.now() < end) continue
  return input + 1
}
