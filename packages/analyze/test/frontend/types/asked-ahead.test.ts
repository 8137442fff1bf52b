import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import { AskedAhead } from '../../../src/frontend/types/asked-ahead.ts'
import type { TypeSource } from '../../../src/frontend/types.ts'
import { tempFolder } from '../../support/temp-folder.ts'

/** Answers every position with its number and the version of the program; records the questions. */
function counting(): { types: TypeSource; asked: string[]; version: number } {
  const self = { asked: [] as string[], version: 1 }
  const types: TypeSource = {
    kind: 'typescript-7',
    symbolsAt(file, positions) {
      self.asked.push(`${path.basename(file)} ${positions.join()}`)
      return positions.map((position) => ({
        name: `${position} v${self.version}`,
        origin: { kind: 'language' },
      }))
    },
    update: () => {},
    close: () => {},
  }
  return Object.assign(self, { types })
}

test('I2: the analysis asks about files one by one, and later only about calls that were not guessed', (t) => {
  const root = tempFolder(t, { 'a.ts': 'x.a(); x.b()', 'b.ts': '\uFEFFx.c()' })
  const [a, b, gone] = ['a.ts', 'b.ts', 'gone.ts'].map((name) => path.join(root, name))
  assert.ok(a !== undefined && b !== undefined && gone !== undefined)
  const { types, asked } = counting()
  const ahead = new AskedAhead(types, [a, b, gone], new Map())
  assert.ok(ahead.askOne())
  assert.deepEqual(asked, ['a.ts 2,9'])
  const names = (file: string, positions: readonly number[]): readonly (string | undefined)[] =>
    ahead.symbolsAt(file, positions).map((symbol) => symbol?.name)
  assert.deepEqual(names(a, [9, 5]), ['9 v1', '5 v1'])
  assert.deepEqual(names(a, [2, 5, 9]), ['2 v1', '5 v1', '9 v1'])
  assert.deepEqual(asked, ['a.ts 2,9', 'a.ts 5'])
  assert.ok(ahead.askOne() && ahead.askOne())
  assert.equal(ahead.askOne(), false)
  assert.deepEqual(asked.slice(2), ['b.ts 2', 'gone.ts '])
})

test('minified files are not guessed about: the analysis leaves them out', (t) => {
  const root = tempFolder(t, { 'a.ts': 'x.a();'.repeat(10_000) })
  const { types, asked } = counting()
  assert.ok(new AskedAhead(types, [path.join(root, 'a.ts')], new Map()).askOne())
  assert.deepEqual(asked, ['a.ts '])
})

test('I1: after an update, doubtful answers are asked again in the last order', (t) => {
  const root = tempFolder(t, { 'a.ts': 'x.a()', 'b.ts': 'x.c()' })
  const [a, b] = ['a.ts', 'b.ts'].map((name) => path.join(root, name))
  assert.ok(a !== undefined && b !== undefined)
  const counted = counting()
  const ahead = new AskedAhead(counted.types, [a, b], new Map())
  ahead.symbolsAt(a, [0])
  ahead.symbolsAt(b, [2])
  counted.asked.length = 0
  counted.version = 2
  ahead.forget({ changed: new Map([[b, '  x.c()']]), isShown: false })
  while (ahead.askOne());
  assert.deepEqual(counted.asked, ['b.ts 4'])
  assert.equal(ahead.symbolsAt(a, [0])[0]?.name, '0 v1', 'it cannot see the change')
  ahead.forget({ changed: new Map([[b, 'x.c()']]), isShown: true })
  while (ahead.askOne());
  assert.deepEqual(counted.asked.slice(1).sort(), ['a.ts 0', 'b.ts 2'])
  ahead.forget({ changed: new Map([[b, 'x.c() ']]), isShown: true })
  ahead.stop()
  assert.equal(ahead.askOne(), false)
})
