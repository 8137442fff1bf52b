/** What `heddle analyze` says about a file of the gallery. */
import path from 'node:path'
import { analyze, type Analysis, type Finding } from '@heddle/analyze'

const root = import.meta.dirname

/**
 * Analyses one file on its own. Paths in the findings start from this folder.
 *
 * *Cancellation*: none; it takes milliseconds.
 */
export async function analyseFile(file: string): Promise<readonly Finding[]> {
  const { findings } = await analyze({ root, files: [path.join(root, file)], types: 'none' })
  return findings
}

/**
 * Analyses files together, with what the compiler knows about them.
 *
 * *Cancellation*: none; it takes as long as the compiler needs to start.
 */
export async function analyseTyped(files: readonly string[]): Promise<Analysis> {
  return analyze({ root, files: files.map((file) => path.join(root, file)), types: 'auto' })
}
