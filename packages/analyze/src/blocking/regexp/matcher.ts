/**
 * A backtracking matcher that counts its steps.
 *
 * V8 does not say how much it backtracked, and a clock says it badly: so a witness is checked on a
 * matcher of our own that tries the same choices in the same order. Tests compare its matches with
 * V8's on generated patterns.
 *
 * The program is a list of instructions; choices wait on a stack of our own, because inputs are long
 * and JavaScript's stack is not. One loop runs them all: half of the time of a judgement is spent in
 * it, and a call for each step would cost more than the step.
 *
 * I1  Registers (captures, loop counters, loop starts) are only written through `#write`, so that
 *     every way back finds the registers as they were when its choice was made.
 * I2  A turn of a loop that matched nothing and was not demanded by `min` fails, as the language
 *     says: so every loop ends.
 */
import { canonical, contains, lineEnds, tabled, tableOf, wordCharacters } from './charset.ts'
import { compileProgram, operations, width } from './program.ts'
import type { BackReference, Loop, MatcherProgram } from './program.ts'
import type { ParsedPattern } from './tree.ts'

export interface MatchResult {
  /** `[start, end, start, end, …]` of the match and its groups; -1 where a group took no part. */
  readonly match: readonly number[] | undefined
  readonly steps: number
  /** Stopped at `maxSteps`: whether there is a match is not known. */
  readonly isCut: boolean
}

/** Instead of the end of a match, and instead of a next instruction. */
const failed = -1
/** Out of steps. */
const cut = -2

export class StepMatcher {
  readonly #program: MatcherProgram
  readonly #tables: readonly Uint8Array[]
  readonly #isUnicode: boolean
  readonly #isSticky: boolean
  readonly #registers: Int32Array
  readonly #trail: number[] = []
  readonly #choices: number[] = []
  #text = ''
  #steps = 0
  #maxSteps = 0

  constructor(pattern: ParsedPattern) {
    this.#isUnicode = pattern.isUnicode
    this.#isSticky = pattern.isSticky
    this.#program = compileProgram(pattern)
    this.#tables = this.#program.sets.map(tableOf)
    this.#registers = new Int32Array(this.#program.registerCount)
  }

  /** Like `exec` with `lastIndex` 0. `isSearch: false` tries the first position only. */
  exec(text: string, options: { maxSteps: number; isSearch?: boolean }): MatchResult {
    this.#text = text
    this.#steps = 0
    this.#maxSteps = options.maxSteps
    const lastStart = this.#isSticky || options.isSearch === false ? 0 : text.length
    for (let start = 0; start <= lastStart; start = this.#after(start)) {
      this.#registers.fill(-1)
      this.#trail.length = 0
      this.#choices.length = 0
      const end = this.#run(0, start)
      if (end === cut) return { match: undefined, steps: this.#steps, isCut: true }
      if (end >= 0) {
        const groups = this.#registers.subarray(2, this.#program.captureCount)
        return { match: [start, end, ...groups], steps: this.#steps, isCut: false }
      }
    }
    return { match: undefined, steps: this.#steps, isCut: false }
  }

  /** The end of the match, `failed` or `cut`. Choices made inside are gone when it returns. */
  #run(startPc: number, startAt: number): number {
    const { code, sets, loops } = this.#program
    const text = this.#text
    const tables = this.#tables
    const isUnicode = this.#isUnicode
    const registers = this.#registers
    const choices = this.#choices
    const trail = this.#trail
    const base = choices.length
    let pc = startPc
    let at = startAt
    for (;;) {
      this.#steps += 1
      if (this.#steps > this.#maxSteps) return cut
      const operand = code[pc + 1] as number
      let next = pc + width
      switch (code[pc] as number) {
        case operations.set: {
          const value =
            at >= text.length
              ? -1
              : isUnicode
                ? (text.codePointAt(at) as number)
                : text.charCodeAt(at)
          const isIn =
            value >= 0 && value < tabled
              ? tables[operand]?.[value] === 1
              : contains(sets[operand] as readonly number[], value)
          if (isIn) at += value > 0xffff ? 2 : 1
          else next = failed
          break
        }
        case operations.turn: {
          const loop = loops[operand] as Loop
          const count = registers[loop.counter] as number
          if (count >= loop.max) {
            next = loop.exit
          } else if (count < loop.min) {
            next = loop.begin
          } else {
            next = loop.isGreedy ? loop.begin : loop.exit
            choices.push(loop.isGreedy ? loop.exit : loop.begin, at, trail.length)
          }
          break
        }
        case operations.begin:
          this.#begin(loops[operand] as Loop, at)
          break
        case operations.endTurn: {
          const { start, counter, min } = loops[operand] as Loop
          const isIdle = registers[start] === at && (registers[counter] as number) > min
          next = isIdle ? failed : (code[pc + 2] as number)
          break
        }
        case operations.split:
          choices.push(code[pc + 2] as number, at, trail.length)
          next = operand
          break
        case operations.jump:
          next = operand
          break
        case operations.save:
          this.#write(operand, at)
          break
        case operations.enter:
          this.#write((loops[operand] as Loop).counter, 0)
          break
        case operations.accept:
          choices.length = base
          return at
        case operations.start:
          if (at !== 0 && !(operand === 1 && isLineEnd(text, at - 1))) next = failed
          break
        case operations.end:
          if (at !== text.length && !(operand === 1 && isLineEnd(text, at))) next = failed
          break
        case operations.word:
          if ((isWord(text, at - 1) !== isWord(text, at)) === (operand === 1)) next = failed
          break
        case operations.look: {
          const before = trail.length
          const end = this.#run(pc + width, at)
          if (end === cut) return cut
          const isNegative = operand === 1
          if (end >= 0 === isNegative) {
            next = failed
          } else {
            if (isNegative) this.#undo(before)
            next = code[pc + 2] as number
          }
          break
        }
        case operations.setBefore: {
          const value = this.#before(at)
          if (value >= 0 && contains(sets[operand] as readonly number[], value)) {
            at -= isUnicode && value > 0xffff ? 2 : 1
          } else {
            next = failed
          }
          break
        }
        case operations.back: {
          const moved = this.#backReference(
            this.#program.backReferences[operand] as BackReference,
            at,
          )
          if (moved === failed) next = failed
          else at = moved
          break
        }
      }
      if (next !== failed) {
        pc = next
        continue
      }
      if (choices.length === base) return failed
      this.#undo(choices.pop() as number)
      at = choices.pop() as number
      pc = choices.pop() as number
    }
  }

  #begin(loop: Loop, at: number): void {
    this.#write(loop.counter, (this.#registers[loop.counter] as number) + 1)
    this.#write(loop.start, at)
    for (const group of loop.groups) {
      this.#write(2 * group, -1)
      this.#write(2 * group + 1, -1)
    }
  }

  /** Where the text goes on after what the group has matched, or `failed`. */
  #backReference({ groups, ignoresCase, isBackward }: BackReference, at: number): number {
    const group = groups.find(
      (index) =>
        (this.#registers[2 * index] as number) >= 0 &&
        (this.#registers[2 * index + 1] as number) >= 0,
    )
    if (group === undefined) return at
    const start = this.#registers[2 * group] as number
    const length = (this.#registers[2 * group + 1] as number) - start
    const from = isBackward ? at - length : at
    if (from < 0 || from + length > this.#text.length) return failed
    this.#steps += length
    for (let i = 0; i < length; i += 1) {
      const a = this.#text.charCodeAt(start + i)
      const b = this.#text.charCodeAt(from + i)
      if (a !== b && !(ignoresCase && canonical(a) === canonical(b))) return failed
    }
    return isBackward ? from : from + length
  }

  /** The character that ends at a position, or -1. */
  #before(at: number): number {
    if (at === 0) return -1
    if (this.#isUnicode && at >= 2) {
      const pair = this.#text.codePointAt(at - 2) as number
      if (pair > 0xffff) return pair
    }
    return this.#text.charCodeAt(at - 1)
  }

  /** The next place where a search starts. */
  #after(at: number): number {
    return at + (this.#isUnicode && (this.#text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1)
  }

  #write(register: number, value: number): void {
    this.#trail.push(register, this.#registers[register] as number)
    this.#registers[register] = value
  }

  #undo(length: number): void {
    const trail = this.#trail
    while (trail.length > length) {
      const value = trail.pop() as number
      this.#registers[trail.pop() as number] = value
    }
  }
}

function isLineEnd(text: string, at: number): boolean {
  return contains(lineEnds, text.charCodeAt(at))
}

function isWord(text: string, at: number): boolean {
  return at >= 0 && at < text.length && contains(wordCharacters, text.charCodeAt(at))
}
