import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { StepMatcher } from '../../src/regexp/matcher.ts'
import { parsePattern, UnsupportedPattern } from '../../src/regexp/tree.ts'
import type { ParsedPattern, RegExpTree } from '../../src/regexp/tree.ts'
import { pattern } from './patterns.ts'

/** The same pattern, but no loop is seen to be over one set: its turns are run one by one. */
function oneByOne(tree: RegExpTree): RegExpTree {
  switch (tree.kind) {
    case 'sequence':
      return { ...tree, parts: tree.parts.map(oneByOne) }
    case 'choice':
      return { ...tree, choices: tree.choices.map(oneByOne) }
    case 'loop':
      return { ...tree, body: { kind: 'sequence', parts: [oneByOne(tree.body)] } }
    case 'group':
    case 'look':
      return { ...tree, body: oneByOne(tree.body) }
    case 'set':
    case 'edge':
    case 'word':
    case 'back':
      return tree
  }
}

function parsed(source: string, flags: string): ParsedPattern | undefined {
  try {
    return parsePattern(source, flags)
  } catch (error) {
    if (error instanceof UnsupportedPattern) return undefined
    throw error
  }
}

const flags = fc.constantFrom('', 'i', 'm', 's', 'u', 'y')
const text = fc
  .array(fc.constantFrom('a', 'b', 'c', 'A', '0', ' ', '\n', '\u{1f600}', 'é'), { maxLength: 14 })
  .map((letters) => letters.join(''))
const loops = fc
  .array(
    fc.constantFrom('a*', '[ab]+', 'a{2}', '.{1,3}', 'a?', '\\w{2,}', 'b*?', 'c', '(a*)', '$'),
    {
      minLength: 1,
      maxLength: 5,
    },
  )
  .map((parts) => parts.join(''))

test('a loop that is run at once matches the same and takes the same steps', () => {
  fc.assert(
    fc.property(
      fc.oneof(pattern, loops),
      flags,
      text,
      fc.nat(400),
      (source, mode, on, maxSteps) => {
        const one = parsed(source, mode)
        fc.pre(one !== undefined)
        const slow = new StepMatcher({ ...one, tree: oneByOne(one.tree) })
        const quick = new StepMatcher(one)
        for (const isSearch of [true, false]) {
          const options = { maxSteps, isSearch }
          assert.deepEqual(quick.exec(on, options), slow.exec(on, options))
        }
      },
    ),
    { numRuns: 5_000 },
  )
})
