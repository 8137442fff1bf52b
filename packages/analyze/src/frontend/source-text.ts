/**
 * The text of a file, or why there is none.
 *
 * A file may be deleted, replaced by a folder or made unreadable between being found and being read;
 * it may be a video (`.ts` is also a container format) or a bundle. Each costs a message, never the
 * rest of the analysis.
 */
import { isUtf8 } from 'node:buffer'
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { describe } from '@heddle/core/lowlevel'
import { isMinified } from './minified.ts'

export interface SourceText {
  readonly text: string
  /** Something to tell although the file was read. */
  readonly warning?: string
}

/** Why a file was left out. */
export interface NoSource {
  readonly reason: 'unreadable' | 'too-large' | 'generated'
  readonly message: string
}

const minified: NoSource = {
  reason: 'generated',
  message: 'It is minified and left out; analyse its source instead.',
}

/** Above this a file is data or a bundle: it is not edited, and its tree would fill the memory. */
export const maximumBytes: number = 8 * 1024 * 1024

/** The outcome of reading a file. */
export type Source = SourceText | NoSource

/** The texts of files, without byte order marks. Nothing is read twice, so every caller gets the same text. */
export class SourceTexts {
  readonly #overlays: ReadonlyMap<string, string> | undefined
  readonly #read: Map<string, Source>

  /**
   * @param overlays Text that is newer than the file on disk, by absolute path.
   * @param known Files that were read before, by absolute path.
   */
  constructor(overlays?: ReadonlyMap<string, string>, known?: ReadonlyMap<string, Source>) {
    this.#overlays = overlays
    this.#read = new Map(known)
  }

  /** The text that is newer than the file on disk. */
  overlay(file: string): string | undefined {
    return this.#overlays?.get(file)
  }

  of(file: string): Source {
    let source = this.#read.get(file)
    if (source === undefined) {
      const overlay = this.overlay(file)
      source = withoutMark(overlay === undefined ? readSource(file) : { text: overlay })
      this.#read.set(file, source)
    }
    return source
  }

  /** Undefined when it cannot be read. */
  textOf(file: string): string | undefined {
    const source = this.of(file)
    return 'text' in source ? source.text : undefined
  }

  /** The text that was read of these files, for a caller that has no access to this object. */
  known(files: readonly string[]): ReadonlyMap<string, Source> {
    return new Map(files.map((file) => [file, this.of(file)]))
  }
}

function withoutMark(source: Source): Source {
  if (!('text' in source) || source.text.charCodeAt(0) !== byteOrderMark) return source
  return { ...source, text: source.text.slice(1) }
}

const byteOrderMark = 0xfeff

/** Reads a file. Never throws. */
export function readSource(file: string): Source {
  let bytes: Buffer | NoSource
  try {
    bytes = readBytes(file)
  } catch (error) {
    return { reason: 'unreadable', message: `It cannot be read: ${describe(error)}` }
  }
  return 'reason' in bytes ? bytes : toSource(bytes)
}

function readBytes(file: string): Buffer | NoSource {
  // A pipe that replaced the file would block the open until a process writes.
  const handle = openSync(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    const stats = fstatSync(handle)
    if (!stats.isFile()) return { reason: 'unreadable', message: 'It is not a file.' }
    if (stats.size > maximumBytes) return isBundle(handle) ? minified : tooLarge(stats.size)
    return readAll(handle, stats.size)
  } finally {
    closeSync(handle)
  }
}

/** Reads to the end, which may have moved since the size was asked for, but not past the maximum. */
function readAll(handle: number, size: number): Buffer | NoSource {
  let buffer = Buffer.allocUnsafe(size + 1)
  let length = 0
  for (;;) {
    const count = readSync(handle, buffer, length, buffer.length - length, null)
    if (count === 0) return buffer.subarray(0, length)
    length += count
    if (length > maximumBytes) return tooLarge(length)
    if (length === buffer.length) buffer = Buffer.concat([buffer, Buffer.allocUnsafe(length)])
  }
}

/** Judged by its beginning: the rest need not be read. */
function isBundle(handle: number): boolean {
  const start = Buffer.alloc(100_000)
  const count = readSync(handle, start, 0, start.length, 0)
  return isMinified(start.toString('latin1', 0, count))
}

function tooLarge(bytes: number): NoSource {
  const limit = (maximumBytes / 1024 / 1024).toFixed(0)
  return {
    reason: 'too-large',
    message: `It has ${(bytes / 1024 / 1024).toFixed(1)} MiB; files above ${limit} MiB are left out.`,
  }
}

function toSource(bytes: Buffer): SourceText | NoSource {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return { text: bytes.toString('utf16le') }
  if (bytes[0] === 0xfe && bytes[1] === 0xff) {
    return { text: new TextDecoder('utf-16be').decode(bytes) }
  }
  if (bytes.subarray(0, 8_192).includes(0)) {
    return { reason: 'unreadable', message: 'It is not text: it has NUL bytes.' }
  }
  const text = bytes.toString('utf8')
  if (isMinified(text)) return minified
  if (isUtf8(bytes)) return { text }
  return { text, warning: 'It is not valid UTF-8: invalid bytes are read as U+FFFD.' }
}
