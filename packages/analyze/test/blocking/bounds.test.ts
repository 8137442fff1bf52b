import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isBoundedBefore } from '../../src/blocking/bounds.ts'
import { isFunction, pathTo } from '../../src/blocking/syntax.ts'
import { parseSource } from '../../src/frontend/parse.ts'

/** Whether `use(…)` in the function comes after a bound on the name. */
function isBounded(body: string, name: string): boolean {
  const text = `function f(x, body) { ${body} }`
  const { program } = parseSource('/a.ts', text)
  const position = text.indexOf('use(')
  const path = pathTo(program, { start: position, end: position + 3 })
  return isBoundedBefore(path.find(isFunction), name, position, text)
}

const bounds: [code: string, name: string][] = [
  ['if (x.length > 100) throw new Error(); use(x)', 'x'],
  ['if (max < x.length) return; use(x)', 'x'],
  ['return x.length <= MAX_LENGTH && use(x)', 'x'],
  ['if (Buffer.byteLength(x) > 1024 * 1024) return; use(x)', 'x'],
  ['if (x.trim().length > 64) return; use(x)', 'x'],
  ['if (x.body.length > options.limit) return; use(x.body)', 'x.body'],
  ['if (x?.length > 100) return; use(x)', 'x'],
]

const noBounds: [code: string, name: string][] = [
  ['if (x.length > 0) use(x)', 'x'],
  ['if (x.length < 1) return; use(x)', 'x'],
  ['for (let i = 0; i < x.length; i++) {} use(x)', 'x'],
  ['let i = 0; while (i < x.length) i += 2; use(x)', 'x'],
  ['if (body.length > 100) return; use(x)', 'x'],
  ['use(x); if (x.length > 100) return', 'x'],
  ['if (x.length > body.length) return; use(x)', 'x'],
  ['const g = () => { if (x.length > 100) return }; use(x)', 'x'],
]

for (const [code, name] of bounds)
  test(`a bounded size is recognized: ${code}`, () => assert.ok(isBounded(code, name)))
for (const [code, name] of noBounds)
  test(`an unbounded size is recognized: ${code}`, () => assert.ok(!isBounded(code, name)))
