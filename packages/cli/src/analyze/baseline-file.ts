/** The baseline on disk. */
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { formatBaseline, parseBaseline, type Baseline } from '@heddle/analyze'
import { HeddleError } from '@heddle/core'
import { writeAtomic } from '@heddle/core/lowlevel'

/**
 * Reads a baseline; undefined when it is not there and need not be.
 *
 * *Cancellation*: none; it reads one file.
 *
 * @throws `HDL_BASELINE_INVALID`
 */
export async function readBaseline(
  file: string,
  isRequired: boolean,
): Promise<Baseline | undefined> {
  const shown = path.relative('', file)
  const refuse = (problem: string, cause?: unknown): HeddleError =>
    new HeddleError('HDL_BASELINE_INVALID', { file: shown, problem }, { cause })
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code !== 'ENOENT') throw refuse(`cannot be read (${message})`, error)
    if (isRequired) throw refuse('does not exist')
    return undefined
  }
  const baseline = parseBaseline(text)
  if ('problem' in baseline) throw refuse(baseline.problem)
  return baseline
}

/**
 * Writes a baseline whole, or not at all.
 *
 * *Cancellation*: none; the old file stays until the new one is complete.
 */
export async function writeBaseline(file: string, baseline: Baseline): Promise<void> {
  await writeAtomic(file, formatBaseline(baseline))
}
