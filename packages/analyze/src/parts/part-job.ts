/** A part as a job: all that it needs can be sent to a thread, and all that it finds can be sent back. */
import { job } from '@heddle/core'
import { systemKernel } from '@heddle/core/lowlevel'
import type { Kernel } from '@heddle/core/lowlevel'
import type { AnalyzeOptions } from '../analysis.ts'
import { readProgram } from '../frontend/read-program.ts'
import { Resolver } from '../frontend/resolve/resolve.ts'
import { SourceTexts } from '../frontend/source-text.ts'
import type { Source } from '../frontend/source-text.ts'
import type { Catalogue } from '../models/catalogue.ts'
import { loadCatalogue } from '../models/load.ts'
import { analyzePart } from './analyze-part.ts'
import type { PartResult } from './part-result.ts'
import type { Part } from './parts.ts'

export interface PartTask extends Pick<AnalyzeOptions, 'root' | 'rules' | 'guards' | 'models'> {
  readonly files: Part
  /** The text of these files, by absolute path. */
  readonly sources: ReadonlyMap<string, Source>
}

/**
 * Parses the files of one part and analyses them. Only its findings are kept.
 *
 * *Cancellation*: the signal is checked between files and between phases. *Fairness*: it yields to the
 * loop after every few files while it parses, and then between phases.
 */
export async function runPart(
  { files, sources, ...options }: PartTask,
  catalogue: Catalogue,
  signal: AbortSignal | undefined,
  { clock }: Kernel,
): Promise<PartResult> {
  const began = clock.now()
  const texts = new SourceTexts(undefined, sources)
  const read = await readProgram({ root: options.root, files, texts, signal, clock })
  return analyzePart(read, clock.now() - began, {
    options: { ...options, ...(signal !== undefined && { signal }) },
    catalogue,
    resolver: new Resolver(files),
    clock,
  })
}

/** The same in a thread. */
export const partJob = job(
  { name: 'analyze-part', place: 'thread', module: import.meta.url },
  async (task: PartTask, { signal }): Promise<PartResult> =>
    runPart(task, await loadCatalogue(task.models), signal, systemKernel),
)

/** Loads the modules for a part, so that the first one does not wait for them. */
export const loadJob = job(
  { name: 'load-analyzer', place: 'thread', module: import.meta.url },
  async (): Promise<void> => {
    await loadCatalogue()
  },
)
