/** What `heddle analyze` says about a file of the gallery. */
import path from 'node:path'
import { analyze, type Finding } from '@heddle/analyze'

/**
 * Analyses one file on its own. Paths in the findings start from this folder.
 *
 * *Cancellation*: none; it takes milliseconds.
 */
export async function analyseFile(file: string): Promise<readonly Finding[]> {
  const root = import.meta.dirname
  const { findings } = await analyze({ root, files: [path.join(root, file)], types: 'auto' })
  return findings
}
