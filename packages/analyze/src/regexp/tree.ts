/**
 * A pattern as the matcher and the automaton need it: flags and modifiers are applied, classes are
 * sets, groups are numbered. The parser is `@eslint-community/regexpp`; nothing above this file
 * knows its nodes.
 */
import { RegExpParser, visitRegExpAST } from '@eslint-community/regexpp'
import type { AST } from '@eslint-community/regexpp'
import {
  complement,
  digits,
  intersection,
  lastCodePoint,
  lastUnit,
  lineEnds,
  spaces,
  union,
  withBothCases,
  wordCharacters,
} from './charset.ts'
import type { CharSet } from './charset.ts'
import { unicodeProperty } from './unicode-property.ts'

export type RegExpTree =
  | { readonly kind: 'set'; readonly set: CharSet }
  | { readonly kind: 'sequence'; readonly parts: readonly RegExpTree[] }
  | { readonly kind: 'choice'; readonly choices: readonly RegExpTree[] }
  | {
      readonly kind: 'loop'
      readonly min: number
      readonly max: number
      readonly isGreedy: boolean
      readonly body: RegExpTree
      /** The groups inside, which every turn starts without. */
      readonly groups: readonly number[]
    }
  | { readonly kind: 'group'; readonly index: number; readonly body: RegExpTree }
  | {
      readonly kind: 'look'
      readonly isBehind: boolean
      readonly isNegative: boolean
      readonly body: RegExpTree
    }
  | { readonly kind: 'edge'; readonly at: 'start' | 'end'; readonly isMultiline: boolean }
  | { readonly kind: 'word'; readonly isNegative: boolean }
  | { readonly kind: 'back'; readonly groups: readonly number[]; readonly ignoresCase: boolean }

export interface ParsedPattern {
  readonly tree: RegExpTree
  readonly groupCount: number
  readonly isUnicode: boolean
  /** `y`: a match starts where the last one ended, so there is no search. */
  readonly isSticky: boolean
}

type SetElement =
  | AST.Character
  | AST.CharacterSet
  | AST.CharacterClass
  | AST.ExpressionCharacterClass

type SetPart =
  | AST.CharacterClassRange
  | AST.ClassIntersection
  | AST.ClassSubtraction
  | AST.ClassStringDisjunction

interface Modes {
  readonly ignoresCase: boolean
  readonly isMultiline: boolean
  readonly dotMatchesAll: boolean
}

/** Something that this part does not model: the caller says "unknown", never "harmless". */
export class UnsupportedPattern extends Error {}

const parser = new RegExpParser({ ecmaVersion: 2025 })

/** Throws {@link UnsupportedPattern}, also for a text that is not a regular expression at all. */
export function parsePattern(source: string, flags: string): ParsedPattern {
  const isSets = flags.includes('v')
  const isUnicode = isSets || flags.includes('u')
  let pattern: AST.Pattern
  try {
    pattern = parser.parsePattern(source, 0, source.length, {
      unicode: isUnicode && !isSets,
      unicodeSets: isSets,
    })
  } catch (error) {
    throw new UnsupportedPattern('not a valid pattern', { cause: error })
  }
  const numbers = new Map<AST.CapturingGroup, number>()
  if (source.includes('(')) {
    visitRegExpAST(pattern, {
      onCapturingGroupEnter: (node) => numbers.set(node, numbers.size + 1),
    })
  }
  const lowering = new Lowering(numbers, isUnicode, isSets)
  const modes = {
    ignoresCase: flags.includes('i'),
    isMultiline: flags.includes('m'),
    dotMatchesAll: flags.includes('s'),
  }
  return {
    tree: lowering.choice(pattern.alternatives, modes),
    groupCount: numbers.size,
    isUnicode,
    isSticky: flags.includes('y'),
  }
}

class Lowering {
  readonly #numbers: ReadonlyMap<AST.CapturingGroup, number>
  readonly #last: number
  readonly #mayHoldStrings: boolean

  constructor(
    numbers: ReadonlyMap<AST.CapturingGroup, number>,
    isUnicode: boolean,
    isSets: boolean,
  ) {
    this.#numbers = numbers
    this.#last = isUnicode ? lastCodePoint : lastUnit
    this.#mayHoldStrings = isSets
  }

  choice(alternatives: readonly AST.Alternative[], modes: Modes): RegExpTree {
    const choices = alternatives.map((alternative): RegExpTree => {
      const parts = alternative.elements.map((element) => this.#element(element, modes))
      return parts.length === 1 ? (parts[0] as RegExpTree) : { kind: 'sequence', parts }
    })
    return choices.length === 1 ? (choices[0] as RegExpTree) : { kind: 'choice', choices }
  }

  #element(node: AST.Element, modes: Modes): RegExpTree {
    switch (node.type) {
      case 'Character':
      case 'CharacterSet':
      case 'CharacterClass':
      case 'ExpressionCharacterClass':
        return this.#setNode(node, modes)
      case 'Group':
        return this.choice(node.alternatives, modified(modes, node.modifiers))
      case 'CapturingGroup':
        return {
          kind: 'group',
          index: this.#number(node),
          body: this.choice(node.alternatives, modes),
        }
      case 'Quantifier':
        return {
          kind: 'loop',
          min: node.min,
          max: node.max,
          isGreedy: node.greedy,
          body: this.#element(node.element, modes),
          groups: this.#groupsIn(node),
        }
      case 'Backreference':
        return {
          kind: 'back',
          groups: [node.resolved].flat().map((group) => this.#number(group)),
          ignoresCase: modes.ignoresCase,
        }
      case 'Assertion':
        return this.#assertion(node, modes)
    }
  }

  /** The set is made when it is asked for: many patterns are judged by their loops alone. */
  #setNode(node: SetElement, modes: Modes): RegExpTree {
    // A pattern that cannot be modelled is reported at once.
    let made = this.#mayHoldStrings ? this.#set(node, modes) : undefined
    const make = (): CharSet => this.#set(node, modes)
    return {
      kind: 'set',
      get set() {
        made ??= make()
        return made
      },
    }
  }

  #assertion(node: AST.Assertion, modes: Modes): RegExpTree {
    switch (node.kind) {
      case 'word':
        return { kind: 'word', isNegative: node.negate }
      case 'start':
      case 'end':
        return { kind: 'edge', at: node.kind, isMultiline: modes.isMultiline }
      case 'lookahead':
      case 'lookbehind':
        return {
          kind: 'look',
          isBehind: node.kind === 'lookbehind',
          isNegative: node.negate,
          body: this.choice(node.alternatives, modes),
        }
    }
  }

  #number(group: AST.CapturingGroup): number {
    return this.#numbers.get(group) as number
  }

  #groupsIn(node: AST.Quantifier): readonly number[] {
    const inside: number[] = []
    for (const [group, index] of this.#numbers) {
      if (group.start >= node.start && group.end <= node.end) inside.push(index)
    }
    return inside
  }

  #set(node: SetElement | SetPart, modes: Modes): CharSet {
    const cased = (set: CharSet): CharSet => (modes.ignoresCase ? withBothCases(set) : set)
    const unless = (negate: boolean, set: CharSet): CharSet =>
      negate ? complement(set, this.#last) : set
    switch (node.type) {
      case 'Character':
        return cased([node.value, node.value])
      case 'CharacterClassRange':
        return cased([node.min.value, node.max.value])
      case 'CharacterClass':
        return unless(node.negate, union(node.elements.map((part) => this.#set(part, modes))))
      case 'ExpressionCharacterClass':
        return unless(node.negate, this.#set(node.expression, modes))
      case 'ClassIntersection':
        return intersection(this.#set(node.left, modes), this.#set(node.right, modes))
      case 'ClassSubtraction':
        return intersection(
          this.#set(node.left, modes),
          complement(this.#set(node.right, modes), this.#last),
        )
      case 'ClassStringDisjunction':
        throw new UnsupportedPattern('a class that holds strings')
      case 'CharacterSet':
        switch (node.kind) {
          case 'any':
            return modes.dotMatchesAll ? [0, this.#last] : complement(lineEnds, this.#last)
          case 'digit':
            return unless(node.negate, digits)
          case 'space':
            return unless(node.negate, spaces)
          case 'word':
            return unless(node.negate, wordCharacters)
          case 'property': {
            if (node.strings) throw new UnsupportedPattern('a property of strings')
            const name = node.value === null ? node.key : `${node.key}=${node.value}`
            return unless(node.negate, cased(unicodeProperty(name)))
          }
        }
    }
  }
}

function modified(modes: Modes, modifiers: AST.Modifiers | null): Modes {
  if (modifiers === null) return modes
  const { add, remove } = modifiers
  return {
    ignoresCase: (modes.ignoresCase || add.ignoreCase) && remove?.ignoreCase !== true,
    isMultiline: (modes.isMultiline || add.multiline) && remove?.multiline !== true,
    dotMatchesAll: (modes.dotMatchesAll || add.dotAll) && remove?.dotAll !== true,
  }
}
