import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assignedIn } from '../../src/blocking/assignments.ts'
import { parseSource } from '../../src/frontend/parse.ts'

/** The values that are assigned to a name, with a plus before those that are added to it. */
function values(text: string, name: string): readonly string[] {
  const { program } = parseSource('/a.ts', text)
  return assignedIn(program, name, text).map(
    ({ value, isMore }) => `${isMore ? '+' : ''}${text.slice(value.start, value.end)}`,
  )
}

const cases: [text: string, name: string, values: readonly string[]][] = [
  ['x = 1', 'x', ['1']],
  ['x=1;x=2', 'x', ['1', '2']],
  ['x += a; x ??= b; x <<= c; x **= d; x >>>= e', 'x', ['+a', 'b', 'c', 'd', 'e']],
  ['(x) = 1', 'x', ['1']],
  ['x = x = 1', 'x', ['x = 1', '1']],
  ['x = y = 1', 'y', ['1']],
  ['x.push(a); x?.push(b); x["push"](c)', 'x', ['+a', '+b', '+c']],
  ['x\n  .push(a)', 'x', ['+a']],
  ['x.push(a).push(b)', 'x', ['+a']],
  ['x.push(x.push(a))', 'x', ['+x.push(a)', '+a']],
  ['x.push()', 'x', []],
  ['pushx = 1; xpush(1)', 'x', []],
  ['this.x = 1; this["x"] = 2; this.x.push(a)', 'this.x', ['1', '2', '+a']],
  ['class A { #x; m() { this.#x = 1 } }', 'this.#x', ['1']],
  ['this.x = 1', 'x', []],
  ['x = 1', 'this.x', []],
  ['a.x = 1; x.a = 1; x[0] = 1', 'x', []],
  ['const x = 1; function f(x = 2) {} ({ x = 3 } = {})', 'x', []],
  ['x == 1; x === 1; x != 1; x <= 1; x >= 1; x => 1', 'x', []],
  ['"x = 1"; `x = 1` // x = 1', 'x', []],
  ['() => { x = 1 }', 'x', ['1']],
  ['größe = 1; $x = 2', 'größe', ['1']],
]

for (const [text, name, expected] of cases) {
  test(`${name} in ${JSON.stringify(text)}`, () => assert.deepEqual(values(text, name), expected))
}

test('only assignments inside the node count', () => {
  const text = 'x = 1; { x = 2 } x = 3'
  const { program } = parseSource('/a.ts', text)
  const block = program.body.find(({ type }) => type === 'BlockStatement')
  assert.ok(block !== undefined)
  assert.deepEqual(
    assignedIn(block, 'x', text).map(({ value }) => text.slice(value.start, value.end)),
    ['2'],
  )
})
