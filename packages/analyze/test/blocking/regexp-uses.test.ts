import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { findBlocking } from '../../src/blocking/find-blocking.ts'
import type { Catalogue } from '../../src/models/catalogue.ts'
import { loadCatalogue } from '../../src/models/load.ts'
import { programOf } from './program.ts'

let catalogue: Catalogue
before(async () => (catalogue = await loadCatalogue()))

function levels(files: string | Record<string, string>): string[] {
  const program = programOf(typeof files === 'string' ? { 'src/a.ts': files } : files)
  return findBlocking(program, catalogue).map(({ rule, level }) => `${rule} ${level}`)
}

const quadratic = String.raw`/^[\w-]+_.+$/`

const cases: [name: string, code: string, expected: string[]][] = [
  [
    'what a caller of a public constructor hands in',
    `export default class Pool {
       constructor(data) { const { id } = data || {}; if (!${quadratic}.test(id)) throw new Error() }
     }`,
    ['B105 warning'],
  ],
  [
    'the same with a bound on the length',
    `const MAX = 55
     export default class Pool {
       constructor(data) { const { id } = data || {}; if (id.length > MAX || !${quadratic}.test(id)) throw new Error() }
     }`,
    [],
  ],
  [
    'the same with a pattern that has one way to match',
    `export default class Pool {
       constructor(data) { const { id } = data || {}; if (!/^[\\w-]+_[0-9a-zA-Z]+$/.test(id)) throw new Error() }
     }`,
    [],
  ],
  [
    'a comparison with zero is not a bound',
    `export const f = (id) => id.length > 0 && ${quadratic}.test(id)`,
    ['B105 warning'],
  ],
  ['a piece of the input', `export const f = (id) => ${quadratic}.test(id.slice(0, 100))`, []],
  [
    'all but the first character',
    `export const f = (id) => ${quadratic}.test(id.slice(1))`,
    ['B105 warning'],
  ],
  ['a constant', `export const f = () => ${quadratic}.test('a_b')`, []],
  [
    'a pattern that is slow only because it searches, on what a caller hands in',
    `export const trim = (text) => text.replace(/\\s+$/, '')`,
    ['B105 note'],
  ],
  [
    'the same on the body of a request',
    `app.post('/x', (req, res) => { res.send(req.body.text.replace(/\\s+$/, '')) })`,
    ['B105 warning'],
  ],
  [
    'an exponential one on the body of a request',
    `app.post('/x', (req, res) => { res.send(/^(\\w+\\s?)*$/.test(req.body.name)) })`,
    ['B105 error'],
  ],
  [
    'an attack that needs a line end, on a line of a request',
    `app.get('/x', (req, res) => { res.send(req.url.replace(/\\?.*$/, '')) })`,
    [],
  ],
  [
    'a pattern that is put together from constants',
    `const word = '[\\\\w-]+'
     const rest = \`_.+\`
     const pattern = new RegExp('^' + word + rest + '$', 'i')
     export function check(id) { return pattern.test(id) }`,
    ['B105 warning'],
  ],
  [
    'a pattern with a part that only the run knows',
    `export function check(id, word) { return new RegExp('^' + word + '_.+$').test(id) }`,
    [],
  ],
  [
    'the source of another pattern, and a list that is joined',
    `const word = /[\\w-]+/
     const parts = ['^', word.source, '_.+$']
     export function check(id) { return id.match(new RegExp(parts.join(''))) }`,
    ['B105 warning'],
  ],
  [
    'a pattern in a constant object',
    `const patterns = { id: ${quadratic} }
     export function check(id) { return patterns.id.exec(id) }`,
    ['B105 warning'],
  ],
  [
    'a name that is assigned again is not a constant',
    `let pattern = ${quadratic}
     export function set(other) { pattern = other; pattern = other }
     export function check(id) { return pattern.test(id) }`,
    [],
  ],
  [
    'a private function that is called with what a caller hands in',
    `function check(id) { return ${quadratic}.test(id) }
     export function open(name) { return check(name.trim()) }`,
    ['B105 warning'],
  ],
  [
    'a private function that is called with a constant',
    `function check(id) { return ${quadratic}.test(id) }
     export function open() { return check('a_b') }`,
    [],
  ],
]

for (const [name, code, expected] of cases) {
  test(name, () => assert.deepEqual(levels(code), expected))
}

test('a constant of another file is evaluated', () => {
  const expected = ['B105 warning']
  const files = {
    'src/patterns.ts': `export const id = ${quadratic}`,
    'src/index.ts': `import { id } from './patterns.ts'\nexport function check(text) { return id.test(text) }`,
  }
  assert.deepEqual(levels(files), expected)
})

test('check is where the pattern is written, act where it is used', () => {
  const program = programOf({
    'src/a.ts': `const id = ${quadratic}\nexport function check(text) {\n  return id.test(text)\n}`,
  })
  const [finding] = findBlocking(program, catalogue)
  assert.deepEqual([finding?.check, finding?.act, finding?.line], [1, 3, 3])
})

test('a pattern that is computed when its module loads', () => {
  const code = `const parts = {}
    const add = (name, value) => { parts[name] = new RegExp(value) }
    add('id', '^' + '[\\\\w-]+' + '_.+$')
    export function check(text) { return parts.id.test(text) }`
  assert.deepEqual(levels(code), ['B105 warning'])
})

test('a part that is assigned again has the value that the module computed', () => {
  const code = (second: string): string => `let part = 'a'
    part = '${second}'
    const id = new RegExp('^' + part + '$')
    export function check(text) { return id.test(text) }`
  assert.deepEqual(levels(code('b')), [])
  assert.deepEqual(levels(code('[\\\\w-]+_.+')), ['B105 warning'])
})

test('a slow part that is assigned again does not make the pattern slow', () => {
  const code = `let part = '[\\\\w-]+_.+'
    part = 'a'
    const id = new RegExp('^' + part + '$')
    export function check(text) { return id.test(text) }`
  assert.deepEqual(levels(code), [])
})

test('the message names the growth, the pattern and the origin of the input', () => {
  const program = programOf({
    'src/a.ts': `export function check(id) { return ${quadratic}.test(id) }`,
  })
  const [finding] = findBlocking(program, catalogue)
  assert.match(
    finding?.message ?? '',
    /takes quadratic time on "a" \+ "_a" repeated \+ ".*", and its input is what callers of check pass as id/,
  )
  assert.equal(finding?.line, 1)
})
