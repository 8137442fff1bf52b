/**
 * The instructions of a pattern, as {@link StepMatcher} runs them.
 *
 * A loop is `enter, turn, begin, …body…, endTurn`: `turn` decides about one more, `begin` counts it.
 * Lookbehinds are compiled backwards, because the language matches them from right to left.
 */
import type { CharSet } from './charset.ts'
import type { ParsedPattern, RegExpTree } from './tree.ts'

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

export type Instruction =
  | { readonly op: 'set'; readonly set: CharSet; readonly isBackward: boolean }
  | { readonly op: 'split'; first: number; second: number }
  | { readonly op: 'jump'; to: number }
  | { readonly op: 'save'; readonly register: number }
  | { readonly op: 'enter'; readonly loop: Loop }
  | { readonly op: 'turn'; readonly loop: Loop }
  | { readonly op: 'begin'; readonly loop: Loop }
  | { readonly op: 'endTurn'; readonly loop: Loop; readonly to: number }
  | { readonly op: 'edge'; readonly at: 'start' | 'end'; readonly isMultiline: boolean }
  | { readonly op: 'word'; readonly isNegative: boolean }
  | { readonly op: 'look'; readonly isNegative: boolean; exit: number }
  | {
      readonly op: 'back'
      readonly groups: readonly number[]
      readonly ignoresCase: boolean
      readonly isBackward: boolean
    }
  | { readonly op: 'accept' }

export interface MatcherProgram {
  readonly code: readonly Instruction[]
  /** Registers from 0 to here hold captures, those above belong to loops. */
  readonly captureCount: number
  readonly registerCount: number
}

export function compileProgram(pattern: ParsedPattern): MatcherProgram {
  const compiler = new Compiler(2 * (pattern.groupCount + 1))
  compiler.compile(pattern.tree, false)
  compiler.code.push({ op: 'accept' })
  return {
    code: compiler.code,
    captureCount: 2 * (pattern.groupCount + 1),
    registerCount: compiler.registerCount,
  }
}

class Compiler {
  readonly code: Instruction[] = []
  registerCount: number

  constructor(captureCount: number) {
    this.registerCount = captureCount
  }

  compile(tree: RegExpTree, isBackward: boolean): void {
    const { code } = this
    switch (tree.kind) {
      case 'set':
        code.push({ op: 'set', set: tree.set, isBackward })
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
        code.push({ op: 'save', register: 2 * tree.index + (isBackward ? 1 : 0) })
        this.compile(tree.body, isBackward)
        code.push({ op: 'save', register: 2 * tree.index + (isBackward ? 0 : 1) })
        return
      case 'loop': {
        const { min, max, isGreedy, groups } = tree
        const counter = this.registerCount
        const loop: Loop = {
          counter,
          start: counter + 1,
          min,
          max,
          isGreedy,
          groups,
          begin: 0,
          exit: 0,
        }
        this.registerCount += 2
        code.push({ op: 'enter', loop })
        const turn = code.length
        code.push({ op: 'turn', loop })
        loop.begin = code.length
        code.push({ op: 'begin', loop })
        this.compile(tree.body, isBackward)
        code.push({ op: 'endTurn', loop, to: turn })
        loop.exit = code.length
        return
      }
      case 'look': {
        const look: Instruction = { op: 'look', isNegative: tree.isNegative, exit: 0 }
        code.push(look)
        this.compile(tree.body, tree.isBehind)
        code.push({ op: 'accept' })
        look.exit = code.length
        return
      }
      case 'edge':
        code.push({ op: 'edge', at: tree.at, isMultiline: tree.isMultiline })
        return
      case 'word':
        code.push({ op: 'word', isNegative: tree.isNegative })
        return
      case 'back':
        code.push({ op: 'back', groups: tree.groups, ignoresCase: tree.ignoresCase, isBackward })
        return
    }
  }

  #compileChoice(choices: readonly RegExpTree[], isBackward: boolean): void {
    const ends: { op: 'jump'; to: number }[] = []
    choices.forEach((choice, i) => {
      if (i === choices.length - 1) {
        this.compile(choice, isBackward)
        return
      }
      const split = { op: 'split' as const, first: this.code.length + 1, second: 0 }
      this.code.push(split)
      this.compile(choice, isBackward)
      const end = { op: 'jump' as const, to: 0 }
      ends.push(end)
      this.code.push(end)
      split.second = this.code.length
    })
    for (const end of ends) end.to = this.code.length
  }
}
