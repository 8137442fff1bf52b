/** What entrants of this suite need, and the variable that says where it is. */
export const needs = {
  peers: 'peers',
  corpus: 'corpus',
} as const

export const corpusVariable = 'HEDDLE_BENCH_CORPUS'

/** The folder with the code that is analysed. */
export function corpusFolder(): string {
  const folder = process.env[corpusVariable]
  if (folder === undefined) throw new Error(`${corpusVariable} is not set: the bench sets it`)
  return folder
}
