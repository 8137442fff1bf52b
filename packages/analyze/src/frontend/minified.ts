/** More than 200 characters a line on average, in a file that is too long to be one table. */
export function isMinified(text: string): boolean {
  if (text.length < 50_000) return false
  let lines = 1
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines++
  return text.length / lines > 200
}
