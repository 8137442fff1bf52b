/** Shorter files are read as they are: a table, or a small script on one line. */
const shortest = 10_000

/**
 * More than 200 characters a line on average, in a file that is too long to be one table; or a shorter one
 * that is hardly more than one line.
 */
export function isMinified(text: string): boolean {
  if (text.length < shortest) return false
  let lines = 1
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines++
  return text.length / lines > (text.length < 50_000 ? 2_000 : 200)
}
