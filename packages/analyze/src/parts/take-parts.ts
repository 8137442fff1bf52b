import { readProgram } from '../frontend/read-program.ts'
import { analyzePart, type PartContext } from './analyze-part.ts'
import type { Part } from './parts.ts'
import type { PartResult } from './part-result.ts'

export interface TakeOptions extends PartContext {
  readonly overlays?: ReadonlyMap<string, string> | undefined
  readonly onResult: (index: number, result: PartResult) => void
}

/**
 * Reads and analyses parts that nobody has taken yet, one after the other; what was read for one is
 * forgotten before the next.
 *
 * *Cancellation*: the signal is looked at between files and between phases.
 * *Fairness*: it yields to the loop there.
 */
export async function takeParts(
  parts: readonly Part[],
  taken: Int32Array<SharedArrayBuffer>,
  options: TakeOptions,
): Promise<void> {
  for (let at = Atomics.add(taken, 0, 1); at < parts.length; at = Atomics.add(taken, 0, 1)) {
    options.onResult(at, await readAndAnalyze(parts[at]!, options))
  }
}

/** *Cancellation*, *Fairness*: as above. */
export async function readAndAnalyze(
  { files }: Part,
  options: Omit<TakeOptions, 'onResult'>,
): Promise<PartResult> {
  const { overlays, clock } = options
  const { root, signal } = options.options
  const began = clock.now()
  const read = await readProgram({ root, files, overlays, signal, clock })
  return analyzePart(read, clock.now() - began, options)
}
