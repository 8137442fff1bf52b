/**
 * From paths to trees: every file is read and parsed, or reported with the reason.
 *
 * Trees are kept in a cache between runs when there is one. A file is read again when its size or its
 * times have changed, so a watcher may miss an event without the result being wrong.
 */
import { statSync } from 'node:fs'
import path from 'node:path'
import type { Clock } from '@heddle/core/lowlevel'
import type { Diagnostic } from '../analysis.ts'
import { toSlashes } from './discover.ts'
import { parseSource } from './parse.ts'
import type { ParsedFile } from './parse.ts'
import type { SourceTexts } from './source-text.ts'
import { Turns } from './turns.ts'

export interface ReadOptions {
  /** Absolute. */
  readonly root: string
  /** Absolute. */
  readonly files: readonly string[]
  readonly texts: SourceTexts
  readonly cache?: SourceCache | undefined
  readonly signal?: AbortSignal | undefined
  readonly clock: Clock
}

export interface ReadProgram {
  /** Sorted by path. Also those with errors, of which a part may be read. */
  readonly parsed: readonly ParsedFile[]
  readonly diagnostics: readonly Diagnostic[]
}

/** The outcome of reading one file. */
interface ReadFile {
  readonly stamp: string
  readonly parsed: ParsedFile | undefined
  readonly diagnostics: readonly Diagnostic[]
}

/**
 * Reads and parses files.
 *
 * *Cancellation*: the signal is checked between files; nothing is left behind.
 * *Fairness*: it yields to the loop after every few files.
 */
export async function readProgram(options: ReadOptions): Promise<ReadProgram> {
  const { files, cache, signal, clock } = options
  const parsed: ParsedFile[] = []
  const diagnostics: Diagnostic[] = []
  const turns = new Turns(clock)
  for (const file of [...files].sort()) {
    signal?.throwIfAborted()
    const read = readOne(file, options)
    cache?.put(file, read)
    if (read.parsed !== undefined) parsed.push(read.parsed)
    diagnostics.push(...read.diagnostics)
    await turns.next()
  }
  cache?.keepOnly(files)
  return { parsed, diagnostics }
}

/** Trees of the last run. */
export class SourceCache {
  readonly #files = new Map<string, ReadFile>()

  get(file: string): ReadFile | undefined {
    return this.#files.get(file)
  }

  put(file: string, read: ReadFile): void {
    this.#files.set(file, read)
  }

  /** Forgets everything else: files that were removed must not be kept alive. */
  keepOnly(files: readonly string[]): void {
    const wanted = new Set(files)
    for (const file of this.#files.keys()) if (!wanted.has(file)) this.#files.delete(file)
  }
}

function readOne(file: string, { root, texts, cache }: ReadOptions): ReadFile {
  const stamp = cache === undefined ? '' : stampOf(file, texts.overlay(file))
  const known = cache?.get(file)
  if (known?.stamp === stamp) return known
  const name = toSlashes(path.relative(root, file))
  const source = texts.of(file)
  if ('reason' in source) {
    const { reason, message } = source
    // A file generated from other files is left out like the output of a build: that is not a gap.
    const isIncomplete = reason !== 'generated'
    const kind = reason === 'too-large' ? 'too-large' : 'unreadable'
    return { stamp, parsed: undefined, diagnostics: [{ kind, file: name, message, isIncomplete }] }
  }
  // Touched, or changed and changed back: the tree of the same text is the same, and so is everything derived from it.
  const isSame = known?.parsed?.text === source.text
  const parsed = (isSame ? known.parsed : undefined) ?? parseSource(file, source.text)
  const diagnostics = parseDiagnostics(parsed, name)
  if (source.warning !== undefined) {
    diagnostics.push({
      kind: 'unreadable',
      file: name,
      message: source.warning,
      isIncomplete: false,
    })
  }
  return { stamp, parsed, diagnostics }
}

/** The first error: the others mostly follow from it. */
function parseDiagnostics(parsed: ParsedFile, file: string): Diagnostic[] {
  const [error] = parsed.errors
  if (error === undefined) return []
  const { line } = parsed.lineAt(error.start)
  return [{ kind: 'parse-error', file, line, message: error.message, isIncomplete: true }]
}

/** The same stamp is the same text. */
function stampOf(file: string, overlay: string | undefined): string {
  if (overlay !== undefined) return `text ${overlay}`
  try {
    const { size, mtimeMs, ctimeMs, ino } = statSync(file)
    return `${size} ${mtimeMs} ${ctimeMs} ${ino}`
  } catch {
    return 'none'
  }
}
