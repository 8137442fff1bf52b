/**
 * Tells when something in folders may have changed.
 *
 * Every folder is watched by itself: `fs.watch` with `recursive` would follow `node_modules` too. Where
 * the system has no more watches to give, or none for this kind of disk, the folder is polled
 * instead.
 */
import { statSync, watch } from 'node:fs'
import type { FSWatcher } from 'node:fs'
import path from 'node:path'
import { systemKernel } from '@heddle/core/lowlevel'
import type { Kernel, Timer } from '@heddle/core/lowlevel'
import { isSourceFile } from '../frontend/language.ts'

export interface FolderWatchOptions {
  readonly onChange: (path: string) => void
  /** Milliseconds between checks of folders that cannot be watched. Default 1,000. */
  readonly interval?: number
  /** For tests: the function that watches a folder. Default `fs.watch`. */
  readonly watchFolder?: (folder: string, onEvent: (name: string | null) => void) => FSWatcher
  readonly kernel?: Kernel
}

/** Files that decide the parts of the program and the meaning of its imports. */
const settings = /^(?:package|[jt]sconfig.*|heddle.*)\.json$|^\.gitignore$/

export class FolderWatch {
  readonly #options: FolderWatchOptions
  readonly #kernel: Kernel
  readonly #watchers = new Map<string, FSWatcher>()
  /** Polled folders, with their last times and those of their files. */
  readonly #polled = new Map<string, string>()
  #filesIn: ReadonlyMap<string, readonly string[]> = new Map()
  #timer: Timer | undefined

  constructor(options: FolderWatchOptions) {
    this.#options = options
    this.#kernel = options.kernel ?? systemKernel
  }

  /** Watches these folders from now on, and no others. `files` are those that are known in them. */
  watch(folders: Iterable<string>, files: readonly string[]): void {
    const wanted = new Set(folders)
    this.#filesIn = Map.groupBy(files, (file) => path.dirname(file))
    for (const [folder, watcher] of this.#watchers) {
      if (wanted.has(folder)) continue
      watcher.close()
      this.#watchers.delete(folder)
    }
    for (const seen of this.#polled.keys()) if (!wanted.has(seen)) this.#polled.delete(seen)
    for (const folder of wanted) {
      if (!this.#watchers.has(folder) && !this.#polled.has(folder)) this.#start(folder)
    }
    this.#schedule()
  }

  close(): void {
    this.watch([], [])
  }

  #start(folder: string): void {
    const { watchFolder = watchNatively } = this.#options
    try {
      const watcher = watchFolder(folder, (name) => this.#onEvent(folder, name))
      watcher.on('error', () => this.#fallBack(folder))
      this.#watchers.set(folder, watcher)
    } catch {
      this.#polled.set(folder, this.#stateOf(folder))
    }
  }

  /** The folder is gone, or its disk. If it comes back, that is seen by looking. */
  #fallBack(folder: string): void {
    this.#watchers.get(folder)?.close()
    this.#watchers.delete(folder)
    this.#polled.set(folder, this.#stateOf(folder))
    this.#options.onChange(folder)
    this.#schedule()
  }

  #onEvent(folder: string, name: string | null): void {
    if (name === null) this.#options.onChange(folder)
    else if (isOfInterest(name)) this.#options.onChange(path.join(folder, name))
  }

  #schedule(): void {
    if (this.#polled.size === 0) {
      this.#timer?.cancel()
      this.#timer = undefined
    } else {
      this.#timer ??= this.#kernel.clock.setTimer(this.#options.interval ?? 1_000, () => {
        this.#timer = undefined
        this.#look()
        this.#schedule()
      })
    }
  }

  #look(): void {
    for (const [folder, before] of this.#polled) {
      const now = this.#stateOf(folder)
      if (now === before) continue
      this.#polled.set(folder, now)
      this.#options.onChange(folder)
    }
  }

  /** The times of a folder and of the files that are known in it. */
  #stateOf(folder: string): string {
    return [folder, ...(this.#filesIn.get(folder) ?? [])].map(timeOf).join(' ')
  }
}

/** Sources, settings, and possible folders. */
function isOfInterest(name: string): boolean {
  return isSourceFile(name) || settings.test(name) || path.extname(name) === ''
}

function timeOf(file: string): string {
  const stats = statSync(file, { throwIfNoEntry: false })
  return stats === undefined ? '-' : `${stats.mtimeMs}/${stats.size}`
}

function watchNatively(folder: string, onEvent: (name: string | null) => void): FSWatcher {
  return watch(folder, { persistent: true }, (_, name) => onEvent(name))
}
