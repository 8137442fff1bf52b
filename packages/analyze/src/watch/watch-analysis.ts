/**
 * Analyses again whenever the code changes.
 *
 *   select ─▶ watch its folders ─▶ analyse ─▶ tell ─▶ wait for changes ─▶ select …
 *
 * I1. The folders are watched before they are read: a change during an analysis starts another one.
 * I2. One analysis at a time. Changes during an analysis wait and are handled together, however many they are.
 * I3. An analysis that fails is reported and the watch continues: the next save may repair it.
 */
import path from 'node:path'
import { isError } from '@heddle/core'
import { systemKernel } from '@heddle/core/lowlevel'
import type { Kernel } from '@heddle/core/lowlevel'
import type { Analysis, AnalyzeOptions } from '../analysis.ts'
import { analyze } from '../analyze.ts'
import { AnalysisCache } from '../typed/analysis-cache.ts'
import { Changes } from './changes.ts'
import type { ChangeBatch } from './changes.ts'
import { FolderWatch } from './folder-watch.ts'

export interface WatchOptions {
  /** Absolute: watched even when it has no files. */
  readonly root: string
  /** What to analyse; asked again for every run, because files come and go. */
  select(): Promise<Omit<AnalyzeOptions, 'cache' | 'signal'>>
  /** The next run starts when this is done. `changed` is undefined for the first one. */
  onAnalysis(analysis: Analysis, changed: ChangeBatch | undefined): void | Promise<void>
  /** A run failed as a whole. */
  onError(error: unknown): void
  /** Ends the watch. */
  readonly signal?: AbortSignal
  readonly kernel?: Kernel
}

/**
 * Watches until the signal ends it.
 *
 * *Cancellation*: resolves; a run that is under way ends between files and is not reported.
 * *Fairness*: none needed.
 */
export async function watchAnalysis(options: WatchOptions): Promise<void> {
  const { root, signal, kernel = systemKernel } = options
  const cache = new AnalysisCache()
  const changes = new Changes({ kernel })
  const folders = new FolderWatch({ onChange: (changed) => changes.note(changed), kernel })
  const ending = signal === undefined ? {} : { signal }
  folders.watch([root], [])
  try {
    for (let changed: ChangeBatch | undefined; ; changed = await changes.take(ending)) {
      try {
        const selected = await options.select()
        folders.watch(foldersOf(selected.files, root), selected.files)
        const analysis = await analyze({ ...selected, ...ending, cache }, kernel)
        await options.onAnalysis(analysis, changed)
      } catch (error) {
        if (signal?.aborted) return
        options.onError(error)
      }
    }
  } catch (error) {
    if (!signal?.aborted && !isError(error, 'HDL_CANCELLED')) throw error
  } finally {
    folders.close()
    changes.close()
    await cache.close()
  }
}

/** The folders of files and those above them up to the root: new folders appear there. */
function foldersOf(files: readonly string[], root: string): ReadonlySet<string> {
  const folders = new Set([root])
  for (const file of files) {
    for (let at = path.dirname(file); !folders.has(at); at = path.dirname(at)) {
      folders.add(at)
      if (!at.startsWith(root + path.sep)) break
    }
  }
  return folders
}
