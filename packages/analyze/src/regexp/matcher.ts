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
 * I3  A loop that is run at once takes the steps that its turns would take, and gives them back in the
 *     same order.
 */
import { canonical, contains, tabled, tableOf } from './charset.ts'
import { characterBefore, charactersOf, isLineEnd, isWord } from './matched-text.ts'
import { NumberStack } from './number-stack.ts'
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

const { set, setLoop, giveBack, turn, begin, endTurn, split, jump, save, enter, accept } =
  operations

/** `turn`, `begin`, `set`, `endTurn`; the last one ends at the set. */
const stepsOfTurn = 4
const stepsOfLastTurn = 3

export class StepMatcher {
  readonly #program: MatcherProgram
  /** The tables of all sets, one after the other. */
  readonly #tables: Uint8Array
  readonly #isUnicode: boolean
  readonly #isSticky: boolean
  readonly #registers: Int32Array
  readonly #trail = new NumberStack()
  readonly #choices = new NumberStack()
  #text = ''
  /**
   * Indexed by position in the text: the character that starts there. No character follows the end.
   */
  #characters: Int32Array = new Int32Array(0)
  #steps = 0
  #maxSteps = 0

  constructor(pattern: ParsedPattern) {
    this.#isUnicode = pattern.isUnicode
    this.#isSticky = pattern.isSticky
    this.#program = compileProgram(pattern)
    this.#tables = new Uint8Array(this.#program.sets.length * tabled)
    this.#program.sets.forEach((one, i) => this.#tables.set(tableOf(one), i * tabled))
    this.#registers = new Int32Array(this.#program.registerCount)
  }

  /** Like `exec` with `lastIndex` 0. `isSearch: false` tries the first position only. */
  exec(text: string, options: { maxSteps: number; isSearch?: boolean }): MatchResult {
    this.#text = text
    this.#characters = charactersOf(text, this.#isUnicode)
    this.#steps = 0
    this.#maxSteps = options.maxSteps
    this.#registers.fill(-1)
    this.#trail.size = 0
    this.#choices.size = 0
    const lastStart = this.#isSticky || options.isSearch === false ? 0 : text.length
    for (let start = 0; start <= lastStart; start = this.#after(start)) {
      const end = this.#run(0, start)
      if (end === cut) return { match: undefined, steps: this.#steps, isCut: true }
      if (end >= 0) {
        const groups = this.#registers.subarray(2, this.#program.captureCount)
        return { match: [start, end, ...groups], steps: this.#steps, isCut: false }
      }
      // Its writes since its last choice are still there.
      this.#undo(0)
    }
    return { match: undefined, steps: this.#steps, isCut: false }
  }

  /** The end of the match, `failed` or `cut`. Choices made inside are gone when it returns. */
  #run(startPc: number, startAt: number): number {
    const { code, sets, loops } = this.#program
    const characters = this.#characters
    const tables = this.#tables
    const registers = this.#registers
    const choices = this.#choices
    const trail = this.#trail
    const base = choices.size
    let pc = startPc
    let at = startAt
    for (;;) {
      this.#steps += 1
      if (this.#steps > this.#maxSteps) return cut
      const operation = code[pc] as number
      const operand = code[pc + 1] as number
      let next = pc + width
      if (operation === set) {
        const value = characters[at] as number
        const isIn =
          value >= 0 && value < tabled
            ? tables[operand * tabled + value] === 1
            : contains(sets[operand] as readonly number[], value)
        if (isIn) at += value > 0xffff ? 2 : 1
        else next = failed
      } else if (operation === setLoop) {
        const loop = loops[operand] as Loop
        const end = this.#endOfLoop(at, loop.max, code[pc + 2] as number)
        const turns = end - at
        this.#steps += stepsOfTurn * turns + (turns === loop.max ? 1 : stepsOfLastTurn)
        if (this.#steps > this.#maxSteps) {
          this.#steps = this.#maxSteps + 1
          return cut
        }
        if (turns < loop.min) {
          next = failed
        } else {
          if (turns > loop.min) {
            choices.push(at + loop.min)
            choices.push(next)
            choices.push(end - 1)
            choices.push(trail.size)
          }
          next += width
          at = end
        }
      } else if (operation === turn) {
        const loop = loops[operand] as Loop
        const count = registers[loop.counter] as number
        if (count >= loop.max) {
          next = loop.exit
        } else if (count < loop.min) {
          next = loop.begin
        } else {
          next = loop.isGreedy ? loop.begin : loop.exit
          choices.push(loop.isGreedy ? loop.exit : loop.begin)
          choices.push(at)
          choices.push(trail.size)
        }
      } else if (operation === begin) {
        this.#begin(loops[operand] as Loop, at)
      } else if (operation === endTurn) {
        const loop = loops[operand] as Loop
        const isIdle =
          registers[loop.start] === at && (registers[loop.counter] as number) > loop.min
        next = isIdle ? failed : (code[pc + 2] as number)
      } else if (operation === split) {
        choices.push(code[pc + 2] as number)
        choices.push(at)
        choices.push(trail.size)
        next = operand
      } else if (operation === jump) {
        next = operand
      } else if (operation === save) {
        this.#write(operand, at)
      } else if (operation === enter) {
        this.#write((loops[operand] as Loop).counter, 0)
      } else if (operation === accept) {
        choices.size = base
        return at
      } else {
        const moved = this.#seldom(operation, operand, pc, at)
        if (moved === cut) return cut
        if (moved === failed) next = failed
        else at = moved
        if (operation === operations.look && moved !== failed) next = code[pc + 2] as number
      }
      if (next !== failed) {
        pc = next
        continue
      }
      if (choices.size === base) return failed
      const written = choices.pop()
      this.#undo(written)
      at = choices.pop()
      pc = choices.pop()
      if (code[pc] === giveBack) {
        // Below it is the place where the loop has no turn left to give back.
        const least = choices.pop()
        if (at > least) {
          choices.push(least)
          choices.push(pc)
          choices.push(at - 1)
          choices.push(written)
        }
        pc += width
      }
    }
  }

  /** Where the turns of a loop over one set end. */
  #endOfLoop(start: number, max: number, number: number): number {
    const characters = this.#characters
    const tables = this.#tables
    const first = number * tabled
    let at = start
    for (; at - start < max; at += 1) {
      const value = characters[at] as number
      const isIn =
        value >= 0 && value < tabled
          ? tables[first + value] === 1
          : contains(this.#program.sets[number] as readonly number[], value)
      if (!isIn) break
    }
    return at
  }

  /** Where the text continues, `failed` or `cut`. */
  #seldom(operation: number, operand: number, pc: number, at: number): number {
    const text = this.#text
    switch (operation) {
      case operations.start:
        return at === 0 || (operand === 1 && isLineEnd(text, at - 1)) ? at : failed
      case operations.end:
        return at === text.length || (operand === 1 && isLineEnd(text, at)) ? at : failed
      case operations.word:
        return (isWord(text, at - 1) !== isWord(text, at)) === (operand === 1) ? failed : at
      case operations.look: {
        const before = this.#trail.size
        const end = this.#run(pc + width, at)
        if (end === cut) return cut
        const isNegative = operand === 1
        if (end >= 0 === isNegative) return failed
        if (isNegative) this.#undo(before)
        return at
      }
      case operations.setBefore: {
        const value = characterBefore(text, at, this.#isUnicode)
        if (value < 0 || !contains(this.#program.sets[operand] as readonly number[], value)) {
          return failed
        }
        return at - (this.#isUnicode && value > 0xffff ? 2 : 1)
      }
      default:
        return this.#backReference(this.#program.backReferences[operand] as BackReference, at)
    }
  }

  #begin(loop: Loop, at: number): void {
    this.#write(loop.counter, (this.#registers[loop.counter] as number) + 1)
    this.#write(loop.start, at)
    const { groups } = loop
    for (let i = 0; i < groups.length; i += 1) {
      const register = 2 * (groups[i] as number)
      this.#write(register, -1)
      this.#write(register + 1, -1)
    }
  }

  /** Where the text continues after the match of the group, or `failed`. */
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

  /** The next place where a search starts. */
  #after(at: number): number {
    return at + (this.#isUnicode && (this.#text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1)
  }

  #write(register: number, value: number): void {
    this.#trail.push(register)
    this.#trail.push(this.#registers[register] as number)
    this.#registers[register] = value
  }

  #undo(size: number): void {
    const trail = this.#trail
    while (trail.size > size) {
      const value = trail.pop()
      this.#registers[trail.pop()] = value
    }
  }
}
