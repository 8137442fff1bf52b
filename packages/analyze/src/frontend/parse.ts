/**
 * From text to tree.
 *
 * The tree is TS-ESTree, of JavaScript ESTree, which lacks its fields; without nodes for parentheses. Offsets are
 * UTF-16 units of `text`, which is the text without its byte order mark, as TypeScript counts them too.
 *
 * Why oxc with raw transfer: the tree is read out of the parser's memory instead of being written as
 * JSON and read again, which is several times faster; it needs a 64-bit little-endian machine and
 * six gigabytes of address space (not of memory), so the default mode is kept as a fallback.
 *
 * I1. It never throws for the content of a file: an unreadable file gives an empty program and an error.
 * I2. It never ends the process: the parser recurses natively and would overflow the stack on deep
 *     nesting, so texts that look too deep are first tried in another process.
 */

import { describe } from '@heddle/core/lowlevel'
import { parseSync } from 'oxc-parser'
import type { Comment, ParseResult, ParserOptions, Program } from 'oxc-parser'
import { readingsOf } from './language.ts'
import type { Reading } from './language.ts'
import { lineStarts, positionIn } from './lines.ts'
import type { Position } from './lines.ts'
import { estimateNesting } from './nesting.ts'
import { parserSurvives } from './probe.ts'

export interface ParseError {
  readonly message: string
  readonly start: number
  readonly end: number
}

export interface ParsedFile {
  readonly file: string
  /** The text without a byte order mark. */
  readonly text: string
  /** Empty when the file could not be read at all. With errors it may still be whole. */
  readonly program: Program
  readonly comments: readonly Comment[]
  readonly errors: readonly ParseError[]
  lineAt(offset: number): Position
}

type RawOptions = ParserOptions & { experimentalRawTransfer?: boolean }

let isRawTransferUsable = true

/** Reads a file's text by the language its name says. */
export function parseSource(file: string, source: string): ParsedFile {
  const text = source.charCodeAt(0) === 0xfeff ? source.slice(1) : source
  return toParsedFile(file, text, bestReading(file, text))
}

interface Outcome {
  readonly program: Program
  readonly comments: readonly Comment[]
  readonly errors: readonly ParseError[]
}

function bestReading(file: string, text: string): Outcome {
  const [first, ...others] = readingsOf(file)
  if (estimateNesting(text, safeNesting) > safeNesting && !parserSurvives(text, first)) {
    return unreadable(text, tooDeep)
  }
  let best = read(file, text, first)
  for (const reading of others) {
    if (best.errors.length === 0) break
    const next = read(file, text, reading)
    if (next.errors.length === 0) best = next
  }
  return best
}

function read(file: string, text: string, reading: Reading): Outcome {
  try {
    // JavaScript without the fields that only TypeScript fills: a fifth of the memory.
    const astType = reading.lang === 'ts' || reading.lang === 'tsx' ? 'ts' : 'js'
    const result = transfer(file, text, { ...reading, astType, preserveParens: false })
    return { program: result.program, comments: result.comments, errors: errorsOf(result) }
  } catch (error) {
    return unreadable(text, isStackOverflow(error) ? tooDeep : describe(error))
  }
}

/**
 * Levels that the parser reads in a thread with the usual 4 MiB of stack, whatever they are. Measured:
 * it fails above 1,500 levels of `(function () {` and above 2,000 of other brackets.
 */
const safeNesting = 1_000

const tooDeep = 'The code is nested too deeply to be read.'

function transfer(file: string, text: string, options: ParserOptions): ParseResult {
  if (isRawTransferUsable) {
    try {
      const raw: RawOptions = { ...options, experimentalRawTransfer: true }
      return parseSync(file, text, raw)
    } catch (error) {
      if (isStackOverflow(error)) throw error
      isRawTransferUsable = false
    }
  }
  return parseSync(file, text, options)
}

function isStackOverflow(error: unknown): boolean {
  return error instanceof RangeError && error.message.includes('call stack')
}

function errorsOf(result: ParseResult): readonly ParseError[] {
  return result.errors.map((error) => {
    const label = error.labels[0]
    return { message: error.message, start: label?.start ?? 0, end: label?.end ?? 0 }
  })
}

function unreadable(text: string, message: string): Outcome {
  const program: Program = {
    type: 'Program',
    body: [],
    sourceType: 'module',
    hashbang: null,
    start: 0,
    end: text.length,
  }
  return { program, comments: [], errors: [{ message, start: 0, end: 0 }] }
}

function toParsedFile(file: string, text: string, outcome: Outcome): ParsedFile {
  let starts: Uint32Array | undefined
  return {
    file,
    text,
    ...outcome,
    lineAt: (offset) => positionIn((starts ??= lineStarts(text)), offset),
  }
}
