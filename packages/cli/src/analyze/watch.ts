/** `heddle analyze --watch`: the answer, again after every change, until it is ended. */
import path from 'node:path'
import { count, watchAnalysis, type ChangeBatch, type Selection } from '@heddle/analyze'
import { exitCodes, type ExitCode } from '../exit-codes.ts'
import { span } from '../text/line.ts'
import type { Session } from './session.ts'
import type { Surface } from './surface.ts'

/** How many changed files are named. */
const mostNames = 3

/**
 * Answers after each change.
 *
 * *Cancellation*: ends with SIGINT, SIGTERM, or when its output is no longer read; that is how a watch ends, so
 * the exit code is 0.
 */
export async function watch(session: Session, surface: Surface): Promise<ExitCode> {
  const ending = new AbortController()
  const end = (): void => ending.abort()
  process.once('SIGINT', end).once('SIGTERM', end)
  let selection: Selection | undefined
  try {
    await watchAnalysis({
      root: session.root,
      select: async () => {
        selection = await session.select()
        surface.progress(`analysing ${count(selection.files.length, 'file')} …`)
        return session.optionsFor(selection)
      },
      onAnalysis: async (analysis, changed) => {
        if (changed !== undefined)
          surface.printNote([span(changedText(changed, selection!), 'bold')])
        await session.answer(analysis, selection!, await session.baseline())
        surface.progress('watching for changes; Ctrl-C ends it')
        if (surface.isGone) end()
      },
      onError: (error) => surface.fail(error),
      signal: ending.signal,
    })
  } finally {
    process.off('SIGINT', end).off('SIGTERM', end)
    surface.clearProgress()
  }
  return exitCodes.ok
}

function changedText({ paths }: ChangeBatch, { files }: Selection): string {
  // Skips the temporary files that editors write beside the saved ones.
  const sources = files.filter((file) => paths.has(file))
  const changed = sources.length > 0 ? sources : [...paths]
  const names = changed.slice(0, mostNames).map((file) => path.relative('', file))
  const more = changed.length - names.length
  return `${names.join(', ')}${more > 0 ? ` and ${more} more` : ''} changed`
}
