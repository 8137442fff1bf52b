/** Only a little of a program is wanted: which files have to be read for it? */
import type { Clock } from '@heddle/core/lowlevel'
import type { AnalyzeOptions } from '../analysis.ts'
import { Resolver } from '../frontend/resolve/resolve.ts'
import { SourceTexts } from '../frontend/source-text.ts'
import { partsOf } from './parts.ts'

/**
 * The files of all parts that have something wanted in them. Findings of a part do not depend on the others.
 *
 * *Cancellation*: the signal is checked between files. *Fairness*: it yields to the loop every few.
 */
export async function filesAround(
  { files, wanted, overlays, signal }: AnalyzeOptions,
  clock: Clock,
): Promise<readonly string[]> {
  if (wanted === undefined) return files
  const isWanted = new Set(wanted)
  const texts = new SourceTexts(overlays)
  const textOf = (file: string): string | undefined => texts.textOf(file)
  const parts = await partsOf(files, textOf, new Resolver(files), clock, signal)
  return parts.filter((part) => part.some((file) => isWanted.has(file))).flat()
}
