/**
 * The instructions of a pattern, as {@link StepMatcher} runs them: a list of numbers, three for each
 * (what to do, and up to two operands), because objects of a dozen shapes are slow to read.
 *
 * | operation        | first operand          | second operand      |
 * | ---------------- | ---------------------- | ------------------- |
 * | set, setBefore   | number of the set      |                     |
 * | split            | tried first            | tried second        |
 * | jump             | where to               |                     |
 * | save             | register               |                     |
 * | enter, turn, begin | number of the loop   |                     |
 * | endTurn          | number of the loop     | its `turn`          |
 * | start, end       | 1 for every line       |                     |
 * | word             | 1 for "not"            |                     |
 * | look             | 1 for "not"            | where it continues  |
 * | back             | number of the reference |                    |
 * | setLoop          | number of the loop     | number of the set   |
 * | giveBack         |                        |                     |
 *
 * A loop is `enter, turn, begin, …body…, endTurn`: `turn` decides about one more, `begin` counts it.
 * A greedy loop over one set, which most loops are, is `setLoop, giveBack`: all of its turns at once.
 * Lookbehinds are compiled backwards, because the language matches them from right to left.
 */
import type { CharSet } from './charset.ts'
import type { ParsedPattern, RegExpTree } from './tree.ts'

export const operations = {
  set: 0,
  setBefore: 1,
  split: 2,
  jump: 3,
  save: 4,
  enter: 5,
  turn: 6,
  begin: 7,
  endTurn: 8,
  start: 9,
  end: 10,
  word: 11,
  look: 12,
  back: 13,
  accept: 14,
  setLoop: 15,
  giveBack: 16,
} as const

/** Numbers that one instruction takes. */
export const width = 3

export interface Loop {
  readonly counter: number
  readonly start: number
  readonly min: number
  readonly max: number
  readonly isGreedy: boolean
  readonly groups: readonly number[]
  begin: number
  exit: number
}

export interface BackReference {
  readonly groups: readonly number[]
  readonly ignoresCase: boolean
  readonly isBackward: boolean
}

export interface MatcherProgram {
  readonly code: readonly number[]
  readonly sets: readonly CharSet[]
  readonly loops: readonly Loop[]
  readonly backReferences: readonly BackReference[]
  /** Registers from 0 to here hold captures, those above belong to loops. */
  readonly captureCount: number
  readonly registerCount: number
}

export function compileProgram(pattern: ParsedPattern): MatcherProgram {
  const captureCount = 2 * (pattern.groupCount + 1)
  const compiler = new Compiler(captureCount, pattern.isUnicode)
  compiler.compile(pattern.tree, false)
  compiler.add(operations.accept)
  const { code, sets, loops, backReferences, registerCount } = compiler
  return { code, sets, loops, backReferences, captureCount, registerCount }
}

class Compiler {
  readonly code: number[] = []
  readonly sets: CharSet[] = []
  readonly loops: Loop[] = []
  readonly backReferences: BackReference[] = []
  registerCount: number
  readonly #isUnicode: boolean

  constructor(captureCount: number, isUnicode: boolean) {
    this.registerCount = captureCount
    this.#isUnicode = isUnicode
  }

  /** Where the instruction is. Operands that are not known yet are set later. */
  add(operation: number, first = 0, second = 0): number {
    this.code.push(operation, first, second)
    return this.code.length - width
  }

  compile(tree: RegExpTree, isBackward: boolean): void {
    switch (tree.kind) {
      case 'set':
        this.sets.push(tree.set)
        this.add(isBackward ? operations.setBefore : operations.set, this.sets.length - 1)
        return
      case 'sequence':
        for (const part of isBackward ? tree.parts.toReversed() : tree.parts) {
          this.compile(part, isBackward)
        }
        return
      case 'choice':
        this.#compileChoice(tree.choices, isBackward)
        return
      case 'group':
        this.add(operations.save, 2 * tree.index + (isBackward ? 1 : 0))
        this.compile(tree.body, isBackward)
        this.add(operations.save, 2 * tree.index + (isBackward ? 0 : 1))
        return
      case 'loop':
        this.#compileLoop(tree, isBackward)
        return
      case 'look': {
        const look = this.add(operations.look, Number(tree.isNegative))
        this.compile(tree.body, tree.isBehind)
        this.add(operations.accept)
        this.code[look + 2] = this.code.length
        return
      }
      case 'edge':
        this.add(tree.at === 'start' ? operations.start : operations.end, Number(tree.isMultiline))
        return
      case 'word':
        this.add(operations.word, Number(tree.isNegative))
        return
      case 'back': {
        const { groups, ignoresCase } = tree
        this.backReferences.push({ groups, ignoresCase, isBackward })
        this.add(operations.back, this.backReferences.length - 1)
        return
      }
    }
  }

  #compileLoop(tree: Extract<RegExpTree, { kind: 'loop' }>, isBackward: boolean): void {
    const { min, max, isGreedy, groups } = tree
    const counter = this.registerCount
    const start = counter + 1
    this.registerCount += 2
    const loop: Loop = { counter, start, min, max, isGreedy, groups, begin: 0, exit: 0 }
    this.loops.push(loop)
    const number = this.loops.length - 1
    // Turns that are given back one by one must all be one unit long.
    if (tree.body.kind === 'set' && isGreedy && !isBackward && !this.#isUnicode) {
      this.sets.push(tree.body.set)
      this.add(operations.setLoop, number, this.sets.length - 1)
      this.add(operations.giveBack)
      return
    }
    this.add(operations.enter, number)
    const turn = this.add(operations.turn, number)
    loop.begin = this.add(operations.begin, number)
    this.compile(tree.body, isBackward)
    this.add(operations.endTurn, number, turn)
    loop.exit = this.code.length
  }

  #compileChoice(choices: readonly RegExpTree[], isBackward: boolean): void {
    const ends: number[] = []
    choices.forEach((choice, i) => {
      if (i === choices.length - 1) {
        this.compile(choice, isBackward)
        return
      }
      const split = this.add(operations.split, this.code.length + width)
      this.compile(choice, isBackward)
      ends.push(this.add(operations.jump))
      this.code[split + 2] = this.code.length
    })
    for (const end of ends) this.code[end + 1] = this.code.length
  }
}
