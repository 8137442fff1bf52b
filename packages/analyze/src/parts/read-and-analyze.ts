import { readProgram } from '../frontend/read-program.ts'
import { analyzePart, type PartContext } from './analyze-part.ts'
import type { Part } from './parts.ts'
import type { PartResult } from './part-result.ts'

export interface ReadContext extends PartContext {
  readonly overlays?: ReadonlyMap<string, string> | undefined
}

/**
 * Analyses a part from its files; what was read is forgotten when it is done.
 *
 * *Cancellation*: the signal is looked at between files and between phases.
 * *Fairness*: it yields to the loop there.
 */
export async function readAndAnalyze({ files }: Part, context: ReadContext): Promise<PartResult> {
  const { overlays, clock } = context
  const { root, signal } = context.options
  const began = clock.now()
  const read = await readProgram({ root, files, overlays, signal, clock })
  return analyzePart(read, clock.now() - began, context)
}
