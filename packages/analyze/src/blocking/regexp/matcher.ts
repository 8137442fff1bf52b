/**
 * A backtracking matcher that counts its steps.
 *
 * V8 does not say how much it backtracked, and a clock says it badly: so a witness is checked on a
 * matcher of our own that tries the same choices in the same order. Tests compare its matches with
 * V8's on generated patterns.
 *
 * The program is a list of instructions; choices wait on a stack of our own, because inputs are long
 * and JavaScript's stack is not.
 *
 * I1  Registers (captures, loop counters, loop starts) are only written through `#write`, so that
 *     every way back finds the registers as they were when its choice was made.
 * I2  A turn of a loop that matched nothing and was not demanded by `min` fails, as the language
 *     says: so every loop ends.
 */
import { canonical, contains, lineEnds, wordCharacters } from './charset.ts'
import { compileProgram } from './program.ts'
import type { Instruction, Loop } from './program.ts'
import type { ParsedPattern } from './tree.ts'

export interface MatchResult {
  /** `[start, end, start, end, …]` of the match and its groups; -1 where a group took no part. */
  readonly match: readonly number[] | undefined
  readonly steps: number
  /** Stopped at `maxSteps`: whether there is a match is not known. */
  readonly isCut: boolean
}

class OutOfSteps extends Error {}

const accepted = -1
const failed = -2

export class StepMatcher {
  readonly #code: readonly Instruction[]
  readonly #isUnicode: boolean
  readonly #isSticky: boolean
  readonly #captureCount: number
  readonly #registerCount: number
  #registers: number[] = []
  #trail: number[] = []
  #choices: number[] = []
  #text = ''
  #steps = 0
  #maxSteps = 0

  constructor(pattern: ParsedPattern) {
    this.#isUnicode = pattern.isUnicode
    this.#isSticky = pattern.isSticky
    const program = compileProgram(pattern)
    this.#code = program.code
    this.#captureCount = program.captureCount
    this.#registerCount = program.registerCount
  }

  /** Like `exec` with `lastIndex` 0. `isSearch: false` tries the first position only. */
  exec(text: string, options: { maxSteps: number; isSearch?: boolean }): MatchResult {
    this.#text = text
    this.#steps = 0
    this.#maxSteps = options.maxSteps
    const lastStart = this.#isSticky || options.isSearch === false ? 0 : text.length
    try {
      for (let start = 0; start <= lastStart; start = this.#after(start)) {
        this.#registers = Array.from({ length: this.#registerCount }, () => -1)
        this.#trail = []
        this.#choices = []
        const end = this.#run(0, start)
        if (end >= 0) {
          const groups = this.#registers.slice(2, this.#captureCount)
          return { match: [start, end, ...groups], steps: this.#steps, isCut: false }
        }
      }
      return { match: undefined, steps: this.#steps, isCut: false }
    } catch (error) {
      if (error instanceof OutOfSteps) {
        return { match: undefined, steps: this.#steps, isCut: true }
      }
      throw error
    }
  }

  /** The end of the match, or -1. Choices made inside are gone when it returns. */
  #run(startPc: number, startAt: number): number {
    const choices = this.#choices
    const base = choices.length
    let pc = startPc
    let at = startAt
    for (;;) {
      this.#steps += 1
      if (this.#steps > this.#maxSteps) throw new OutOfSteps()
      const next = this.#step(this.#code[pc] as Instruction, pc, at)
      if (next === accepted) {
        choices.length = base
        return at
      }
      if (next !== failed) {
        pc = next
        at = this.#at
        continue
      }
      if (choices.length === base) return -1
      this.#undo(choices.pop() as number)
      at = choices.pop() as number
      pc = choices.pop() as number
    }
  }

  /** Where `#step` has moved to in the text. */
  #at = 0

  #step(instruction: Instruction, pc: number, at: number): number {
    this.#at = at
    switch (instruction.op) {
      case 'set': {
        const value = instruction.isBackward ? this.#before(at) : this.#here(at)
        if (value < 0 || !contains(instruction.set, value)) return failed
        const width = this.#isUnicode && value > 0xffff ? 2 : 1
        this.#at = instruction.isBackward ? at - width : at + width
        return pc + 1
      }
      case 'split':
        this.#choices.push(instruction.second, at, this.#trail.length)
        return instruction.first
      case 'jump':
        return instruction.to
      case 'save':
        this.#write(instruction.register, at)
        return pc + 1
      case 'enter':
        this.#write(instruction.loop.counter, 0)
        return pc + 1
      case 'turn':
        return this.#turn(instruction.loop, at)
      case 'begin':
        this.#begin(instruction.loop, at)
        return pc + 1
      case 'endTurn': {
        const { loop } = instruction
        const isIdle = this.#registers[loop.start] === at
        return isIdle && (this.#registers[loop.counter] as number) > loop.min
          ? failed
          : instruction.to
      }
      case 'edge':
        return this.#isAtEdge(instruction.at, instruction.isMultiline, at) ? pc + 1 : failed
      case 'word':
        return this.#isAtWordEdge(at) === instruction.isNegative ? failed : pc + 1
      case 'look': {
        const trail = this.#trail.length
        const isFound = this.#run(pc + 1, at) >= 0
        this.#at = at
        if (isFound === instruction.isNegative) return failed
        if (instruction.isNegative) this.#undo(trail)
        return instruction.exit
      }
      case 'back':
        return this.#backReference(instruction, at) ? pc + 1 : failed
      case 'accept':
        return accepted
    }
  }

  #turn(loop: Loop, at: number): number {
    const count = this.#registers[loop.counter] as number
    if (count >= loop.max) return loop.exit
    if (count < loop.min) return loop.begin
    const [first, second] = loop.isGreedy ? [loop.begin, loop.exit] : [loop.exit, loop.begin]
    this.#choices.push(second, at, this.#trail.length)
    return first
  }

  #begin(loop: Loop, at: number): void {
    this.#write(loop.counter, (this.#registers[loop.counter] as number) + 1)
    this.#write(loop.start, at)
    for (const group of loop.groups) {
      this.#write(2 * group, -1)
      this.#write(2 * group + 1, -1)
    }
  }

  #backReference(
    { groups, ignoresCase, isBackward }: Extract<Instruction, { op: 'back' }>,
    at: number,
  ): boolean {
    const group = groups.find(
      (index) =>
        (this.#registers[2 * index] as number) >= 0 &&
        (this.#registers[2 * index + 1] as number) >= 0,
    )
    if (group === undefined) return true
    const start = this.#registers[2 * group] as number
    const length = (this.#registers[2 * group + 1] as number) - start
    const from = isBackward ? at - length : at
    if (from < 0 || from + length > this.#text.length) return false
    this.#steps += length
    for (let i = 0; i < length; i += 1) {
      const a = this.#text.charCodeAt(start + i)
      const b = this.#text.charCodeAt(from + i)
      if (a !== b && !(ignoresCase && canonical(a) === canonical(b))) return false
    }
    this.#at = isBackward ? from : from + length
    return true
  }

  #isAtEdge(edge: 'start' | 'end', isMultiline: boolean, at: number): boolean {
    if (at === (edge === 'start' ? 0 : this.#text.length)) return true
    return isMultiline && contains(lineEnds, this.#text.charCodeAt(edge === 'start' ? at - 1 : at))
  }

  #isAtWordEdge(at: number): boolean {
    const isWord = (i: number): boolean =>
      i >= 0 && i < this.#text.length && contains(wordCharacters, this.#text.charCodeAt(i))
    return isWord(at - 1) !== isWord(at)
  }

  /** The character that starts at a position, or -1. */
  #here(at: number): number {
    if (at >= this.#text.length) return -1
    return this.#isUnicode ? (this.#text.codePointAt(at) as number) : this.#text.charCodeAt(at)
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

  #after(at: number): number {
    return at + (this.#isUnicode && this.#here(at) > 0xffff ? 2 : 1)
  }

  #write(register: number, value: number): void {
    this.#trail.push(register, this.#registers[register] as number)
    this.#registers[register] = value
  }

  #undo(length: number): void {
    while (this.#trail.length > length) {
      const value = this.#trail.pop() as number
      this.#registers[this.#trail.pop() as number] = value
    }
  }
}
