import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { editJson } from '../../src/manifest/json-edit.ts'

test('S71 tabs, CRLF, byte order mark, odd spaces and a missing last line end are kept', () => {
  const text = '\ufeff{\r\n\t"version" :  "1.0.0",\r\n\t"x":{"a":"1"  }}'
  const edited = editJson('package.json', text, [
    { path: ['version'], value: '2.0.0' },
    { path: ['x', 'a'], value: '2' },
  ])
  assert.equal(edited, '\ufeff{\r\n\t"version" :  "2.0.0",\r\n\t"x":{"a":"2"  }}')
})

test('among equal keys the effective one is changed', () => {
  const text = '{"a":"first","a":"last"}'
  assert.equal(editJson('p', text, [{ path: ['a'], value: 'new' }]), '{"a":"first","a":"new"}')
})

test('S70 an edit of invalid JSON, a missing value or a value that is not a string is refused', () => {
  for (const [text, path] of [
    ['{', ['a']],
    ['{"a":1}', ['a']],
    ['{}', ['a']],
    ['{}', ['constructor']],
    ['// note\n{"a":"x"}', ['a']],
  ] as const) {
    assert.throws(() => editJson('p', text, [{ path, value: 'y' }]), { code: 'HDL_BAD_MANIFEST' })
  }
})

test('whatever the object: changing any text changes that text and nothing else', () => {
  const indents = fc.constantFrom('', ' ', '  ', '\t')
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.dictionary(fc.string(), fc.string())),
      indents,
      fc.string(),
      fc.nat(),
      (object, indent, value, choice) => {
        const paths = Object.entries(object).flatMap(([group, fields]) =>
          Object.keys(fields).map((name) => [group, name] as const),
        )
        if (paths.length === 0) return
        const [group, name] = paths[choice % paths.length]!
        const before = JSON.stringify(object, undefined, indent)
        const after = editJson('p', before, [{ path: [group, name], value }])
        const expected = JSON.parse(before) as Record<string, Record<string, string>>
        expected[group]![name] = value
        assert.equal(after, JSON.stringify(expected, undefined, indent))
      },
    ),
  )
})
