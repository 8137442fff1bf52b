import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parse } from 'smol-toml'
import { editToml, parseToml } from '../../src/manifest/toml-edit.ts'
import { valueAt, type ValuePath } from '../../src/manifest/text-edit.ts'
import { tomlStrings } from '../../src/manifest/toml-strings.ts'

const edit = (text: string, path: ValuePath, value: string): string =>
  editToml('pyproject.toml', text, [{ path, value }])

const wild = `# a comment with "quotes" and [brackets]
title = 'literal' # "x" = "y"
"quoted key" . 'and' = "deep"
number = 1_000 # [
date = 1979-05-27T07:32:00Z
flag = true
multi = """
first "quoted" line \\
  [not.a.table]
last\\"""""
raw = '''
C:\\path 'x' '''''

[project] # "the" project
name = "genkit" # its name
version = '0.4.0'
dependencies = [
  # before
  "core[a,b]>=0.4; python_version < '3.13'", # after "core"
  'other~=1.0', "third",
  "escaped \\"quote\\" \\u00e9",

] # end
inline = { a = "1", b = ["x", { c = 'y' }], "d.e" = "z" }

[project.optional-dependencies]
all = ["core>=1"]
"with space" = [
]

[[tool.index]]
url = "https://one"
[tool.index.auth]
user = "u"
[[tool.index]]
url = "https://two"
auth.user = "v"
[tool.'a.b']
c = [["nested", "list"], []]
`

test('strings are found wherever TOML allows them, with the values the parser sees', () => {
  const document = parse(wild)
  const strings = tomlStrings(wild)
  for (const { path, value } of strings)
    assert.equal(value, valueAt(document, path), path.join('.'))
  const count = (value: unknown): number => {
    if (typeof value === 'string') return 1
    if (typeof value !== 'object' || value === null || value instanceof Date) return 0
    return Object.values(value).reduce((sum: number, field) => sum + count(field), 0)
  }
  assert.equal(strings.length, count(document))
})

test('only the value changes: comments, order, quotes and spaces stay', () => {
  const path = ['project', 'dependencies', 0]
  const before = `"core[a,b]>=0.4; python_version < '3.13'"`
  const after = `"core[a,b]==0.5.0; python_version < '3.13'"`
  assert.equal(
    edit(wild, path, "core[a,b]==0.5.0; python_version < '3.13'"),
    wild.replace(before, after),
  )
  assert.equal(
    edit(wild, ['project', 'version'], '0.5.0'),
    wild.replace("version = '0.4.0'", "version = '0.5.0'"),
  )
  assert.equal(
    edit(wild, ['tool', 'index', 1, 'url'], 'https://three'),
    wild.replace('https://two', 'https://three'),
  )
})

test('a literal string that must hold a quote becomes a basic one', () => {
  assert.equal(edit(`a = 'x' # y\n`, ['a'], "it's"), `a = "it's" # y\n`)
  assert.equal(edit(`a = "x"\n`, ['a'], 'say "x" \\'), `a = "say \\"x\\" \\\\"\n`)
})

test('S71 CRLF, byte order mark and a missing last line end are kept', () => {
  const text = '\ufeff[project]\r\nversion = "1.0.0"\r\nx = [\r\n\t"a", # b\r\n]'
  assert.equal(edit(text, ['project', 'version'], '2.0.0'), text.replace('1.0.0', '2.0.0'))
})

test('S70 a missing key, a value that is not text, and invalid TOML are refused', () => {
  for (const [text, path] of [
    ['a = 1\n', ['a']],
    ['a = "x"\n', ['b']],
    ['a = ["x"]\n', ['a', 1]],
    ['a = \n', ['a']],
    ['a = "x\n', ['a']],
  ] as const) {
    assert.throws(() => edit(text, path, 'y'), { code: 'HDL_BAD_MANIFEST' }, text)
  }
  assert.throws(() => parseToml('here.toml', '['), /^HeddleError: here\.toml cannot be used/)
})

/** Documents in all the ways a value can be written, with their values. */
const text = fc.string({ unit: fc.constantFrom(...Array.from('ab "\'\\#[]{}=.,;<>é\n\t')) })
const key = fc.oneof(
  fc.stringMatching(/^[A-Za-z0-9_-]{1,6}$/),
  fc
    .string({ unit: fc.constantFrom(...Array.from('a."# é')), minLength: 1, maxLength: 4 })
    .map((name) => JSON.stringify(name)),
)
const literal = (value: string): string =>
  /['\n]/.test(value) ? JSON.stringify(value) : `'${value}'`
const rendered = fc.oneof(
  text.map((value) => JSON.stringify(value)),
  text.map(literal),
  text.map((value) => `"""\n${JSON.stringify(value).slice(1, -1)}"""`),
  fc.constantFrom('1', '1.5', 'true', '1979-05-27', '0xff', 'inf'),
)
const space = fc.constantFrom('', ' ', '\t')
const gap = fc.constantFrom('', ' ', '\n', '\r\n', ' # note "]" \n')
const array = fc
  .array(fc.tuple(gap, rendered, gap))
  .map((items) => `[${items.map(([a, value, b]) => `${a}${value}${b}`).join(',')}]`)
const value = fc.oneof({ weight: 2, arbitrary: rendered }, array)
const table = fc.uniqueArray(fc.tuple(key, space, value, fc.constantFrom('', ' # "end"')), {
  selector: ([name]) => name,
  maxLength: 4,
})
const document = fc
  .uniqueArray(fc.tuple(key, table), { selector: ([name]) => name, maxLength: 4 })
  .map((tables) =>
    tables
      .map(([name, pairs]) => {
        const lines = pairs.map(
          ([own, blank, field, note]) => `${own}${blank}=${blank}${field}${note}`,
        )
        return [`[ ${name} ]`, ...lines].join('\n')
      })
      .join('\n\n'),
  )

test('whatever the document: changing any string changes that string and nothing else', () => {
  let edits = 0
  fc.assert(
    fc.property(document, text, fc.nat(), (before, content, choice) => {
      try {
        parse(before)
      } catch {
        return
      }
      const strings = tomlStrings(before)
      if (strings.length === 0) return
      const { path, start, end } = strings[choice % strings.length]!
      const after = edit(before, path, content)
      edits++
      assert.equal(valueAt(parse(after), path), content)
      assert.ok(after.startsWith(before.slice(0, start)))
      assert.ok(after.endsWith(before.slice(end)))
    }),
    { numRuns: 500 },
  )
  assert.ok(edits > 100, `only ${edits} documents had something to change`)
})
