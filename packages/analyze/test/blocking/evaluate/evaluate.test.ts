import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Evaluator } from '../../../src/blocking/evaluate/evaluate.ts'
import { unknown } from '../../../src/blocking/evaluate/value.ts'
import type { Value } from '../../../src/blocking/evaluate/value.ts'
import { ModuleFinder } from '../../../src/blocking/modules.ts'
import { programOf } from '../program.ts'

function valueOf(files: string | Record<string, string>, name: string): Value {
  const { files: units } = programOf(typeof files === 'string' ? { 'a.js': files } : files)
  const evaluator = new Evaluator(new ModuleFinder(units))
  return evaluator.valueOf(units.at(-1)!, name)
}

const pattern = (source: string, flags = '') => ({ kind: 'pattern', source, flags })

const cases: [name: string, code: string, expected: unknown][] = [
  ['a literal', `const x = /a+/g`, pattern('a+', 'g')],
  ['texts', `const a = 'b'; const x = new RegExp('^' + a + \`\${a}$\`, 'i')`, pattern('^bb$', 'i')],
  ['raw text', `const x = RegExp(String.raw\`\\d+\`)`, pattern('\\d+')],
  ['a list', `const x = new RegExp(['a', 'b'].join('|'))`, pattern('a|b')],
  [
    'a list that grows',
    `const p = []; p.push('a'); p.push('b'); const x = new RegExp(p.join(''))`,
    pattern('ab'),
  ],
  ['fields', `const p = { a: 'x' }; p.b = p.a + 'y'; const x = new RegExp(p.b)`, pattern('xy')],
  [
    'the source of another',
    `const a = /b/; const x = new RegExp(a.source + '+', a.flags)`,
    pattern('b+'),
  ],
  [
    'tokens by a function with a counter',
    `let n = 0
     const src = [], re = [], t = {}
     const token = (name, value, isGlobal) => {
       const index = n++
       t[name] = index
       src[index] = value
       re[index] = new RegExp(value, isGlobal ? 'g' : undefined)
     }
     token('DIGITS', '\\\\d+')
     token('RANGE', \`\${src[t.DIGITS]}-\${src[t.DIGITS]}\`, true)
     const x = re[t.RANGE]`,
    pattern('\\d+-\\d+', 'g'),
  ],
  [
    'an editor with a closure',
    `function edit(regex, flags) {
       regex = regex.source || regex
       flags = flags || ''
       const made = {
         replace: (name, value) => { regex = regex.replace(name, value.source || value); return made },
         get: () => new RegExp(regex, flags),
       }
       return made
     }
     const x = edit(/^word rest/).replace('word', /\\w+/).replace(/rest/, 'end').get()`,
    pattern('^\\w+ end'),
  ],
  [
    'a loop over a list',
    `let s = ''; for (const p of ['a', 'b']) { s += p } const x = new RegExp(s)`,
    pattern('ab'),
  ],
  ['a condition', `const strict = false; const x = strict ? /a/ : /b/`, pattern('b')],
  ['something from outside', `const x = new RegExp(process.argv[2])`, unknown],
  ['a part from outside', `const x = new RegExp('^' + name + '$')`, unknown],
  ['a condition from outside', `const x = new RegExp(isStrict() ? 'a' : 'b')`, unknown],
  ['a loop without end', `function f(n) { return f(n + 1) } const x = f(0)`, unknown],
]

for (const [name, code, expected] of cases) {
  test(name, () => assert.deepEqual(valueOf(code, 'x'), expected))
}

test('a pattern that is built in another file', () => {
  const files = {
    'lib/re.js': `const re = exports.re = {}; re.id = new RegExp('a' + 'b')`,
    'lib/use.js': `const { re } = require('./re'); const x = re.id`,
  }
  assert.deepEqual(valueOf(files, 'x'), pattern('ab'))
  const modules = {
    'src/re.ts': `export const id = new RegExp('a' + 'b')`,
    'src/use.ts': `import { id as x } from './re.js'`,
  }
  assert.deepEqual(valueOf(modules, 'x'), pattern('ab'))
})

test('files that import each other see what Node would show them', () => {
  const files = {
    'a.js': `const { b } = require('./b'); exports.a = 'a' + b`,
    'b.js': `const { a } = require('./a'); exports.b = 'b' + a; const x = exports.b`,
  }
  assert.equal(valueOf(files, 'x'), 'baundefined')
})

test('I2: a pattern of the program that is slow is not run', () => {
  const text = 'a'.repeat(60)
  assert.equal(valueOf(`const x = '${text}!'.replace(/(a+)+$/, '')`, 'x'), unknown)
})
