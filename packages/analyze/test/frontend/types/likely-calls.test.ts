import assert from 'node:assert/strict'
import { test } from 'node:test'
import { likelyCalls } from '../../../src/frontend/types/likely-calls.ts'

const names = (text: string): readonly (string | undefined)[] =>
  likelyCalls(text).map((position) => /^#?\w+/.exec(text.slice(position))?.[0])

test('methods of values are likely calls, those of this, super and classes are not', () => {
  assert.deepEqual(names('a.b(c.d(1)).e().f'), ['b', 'd', 'e'])
  assert.deepEqual(names('a?.b?.(); a.b<C>(); a\n  .b (); this.a.#b()'), ['b', 'b', 'b', '#b'])
  assert.deepEqual(names('this.a(); super.a(); Math.max(); this?.a()'), [])
  assert.deepEqual(names('CODES.has(1)'), ['has'])
  assert.deepEqual(names('/* a.b()\n c.d() */ // e.f()\ng.h()'), ['h'])
})
